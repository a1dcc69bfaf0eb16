"""The link to workers that are Ray actors. Ray's own retries are off: the leader decides what is tried again.

Calls and answers are messages of ours, which Ray carries; large arguments lie in its store, or, for workers on the leader's
machine, in memory that they share with the leader. What a worker is built from is pickled by Ray.
"""

from __future__ import annotations

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from evolute.core.protocols import EngineError
from evolute.core.tree import Tree
from evolute.engines.links.call_server import CallServer
from evolute.engines.links.link import Answered, Event, Gone, Make, Ready, Update
from evolute.engines.links.restarts import Restarts
from evolute.engines.links.same_machine import Landmark, Published, mapped, sees
from evolute.engines.links.wire import decoded, encoded

CONCURRENT = "concurrent"
BEATS = 5
"""How often per lease a worker is asked whether it is alive."""
LARGE = 100_000
"""Bytes of a message from which on Ray puts it into its store, for each call anew."""
Message = bytes | np.ndarray[Any, np.dtype[np.uint8]]
"""Ray carries small messages faster as bytes, and large ones as arrays, which can be read where they lie in its store."""


class RayWorker:
    """The actor: an object that `make` builds here, and the updates that it sends."""

    def __init__(self, make: Make, space: str, landmark: tuple[str, bytes]) -> None:
        self._server, self._space, self._make = CallServer(self._add_update), space, make
        self._landmark = landmark
        self._updates: list[Tree] = []
        self._others: dict[str, Any] = {}

    def begin(self) -> bool:
        """Build the object; returns whether this is the leader's machine."""
        self._server.target = self._make(self)
        return sees(self._landmark)

    def call(self, message: Message, argument: Message | str) -> Message:
        """Answer the leader; an argument on the same machine comes by its address."""
        found = decoded(mapped(argument)) if isinstance(argument, str) else _unpacked(argument)
        return _packed(self._server.answer({**_unpacked(message), "argument": found}))

    def call_concurrently(self, message: Message, argument: Message | str) -> Message:
        """Answer another worker, or the leader beside what it has asked before."""
        return self.call(message, argument)

    def updates(self) -> Message:
        """The updates since the last call; also a sign of life."""
        updates, self._updates = self._updates, []
        return _packed(updates)

    def send_update(self, value: Tree) -> None:
        self._server.send_update(value)

    def ask(self, address: str, method: str, argument: Tree) -> Tree:
        import ray

        try:
            if address not in self._others:
                self._others[address] = ray.get_actor(address, namespace=self._space)
            call = self._others[address].call_concurrently.options(concurrency_group=CONCURRENT)
            answer = ray.get(call.remote(_packed({"ticket": 0, "method": method}), _packed(argument)))
        except (ray.exceptions.RayError, ValueError) as error:
            raise ConnectionError(f"cannot reach worker {address}: {error}") from error
        message = _kept(answer)
        if "error" in message:
            raise ConnectionError(f"the worker {address} answered with an error:\n{message['error']}")
        return message["value"]

    def _add_update(self, message: Tree) -> None:
        self._updates.append(message["update"])


def _packed(tree: Tree) -> Message:
    message = encoded(tree)
    return message if message.nbytes >= LARGE else message.tobytes()


def _unpacked(message: Message) -> Tree:
    return decoded(message if isinstance(message, bytes) else message.data)


def _kept(message: Message) -> Tree:
    """The tree of a message, in memory of our own: Ray's would stay in its store for as long as an array of it is used."""
    return _unpacked(message if isinstance(message, bytes) else message.copy())


@dataclass(eq=False)
class ActorHandle:
    """An actor as its leader sees it."""

    number: int
    name: str
    handle: Any
    heard: float = field(default_factory=time.monotonic)
    begun: bool = False
    near: bool = False
    """Whether it is on the leader's machine."""
    asked: bool = False


@dataclass(frozen=True, eq=False)
class Stored:
    """A large argument, and where it is: for workers on the leader's machine (`True`), and for those elsewhere."""

    argument: Tree
    where: dict[bool, Any] = field(default_factory=dict)


@dataclass(eq=False)
class RayLink:
    """A link to Ray actors, each with these Ray `options`. Closing it calls `disconnect`.

    With `in_turn` the nodes get workers in turn. Ray's own spreading is by what workers reserve: those that reserve nothing
    may all come to one node.
    """

    make: Make
    size: int
    lease: float
    options: Mapping[str, Any]
    disconnect: Callable[[], None]
    in_turn: bool = False
    _space: str = field(default_factory=lambda: f"evolute-{secrets.token_hex(8)}")
    _actors: dict[int, ActorHandle] = field(default_factory=dict)
    _pending: dict[Any, tuple[ActorHandle, int | str, Any]] = field(default_factory=dict)
    """What was asked of whom, and what has to stay until it is answered."""
    _restarts: Restarts = field(default_factory=Restarts)
    _tickets: count[int] = field(default_factory=lambda: count(1))
    _stored: Stored = field(default_factory=lambda: Stored(None))
    """The last large argument."""
    _landmark: Landmark = field(default_factory=Landmark)

    def __post_init__(self) -> None:
        import ray

        self._ray: Any = ray
        self._kind = self._ray.remote(concurrency_groups={CONCURRENT: 2})(RayWorker)
        self._made = self._ray.put(self.make)
        for number in range(self.size):
            self._start(number)

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        ticket = next(self._tickets)
        message = _packed({"ticket": ticket, "method": method})
        actor = self._actors[worker]
        call = actor.handle.call_concurrently.options(concurrency_group=CONCURRENT) if concurrent else actor.handle.call
        sent = self._sendable(argument, actor.near)
        future = call.remote(message, sent.address if isinstance(sent, Published) else sent)
        self._pending[future] = (actor, ticket, sent)
        return ticket

    def poll(self, timeout: float | None = None) -> list[Event]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            for number in self._restarts.take_due():
                self._start(number)
            events: list[Event] = []
            if self._silent():  # it may have answered while nobody asked
                events += [event for future in self._done(0.0) for event in self._event(future)]
                events += [self._gone(actor, f"silent for more than {self.lease:g} s") for actor in self._silent()]
            self._ask_around()
            until = min(deadline, self._restarts.next_due())
            for future in self._done(0.0 if events else min(self.lease / BEATS, max(0.0, until - time.monotonic()))):
                events += self._event(future)
            if events or time.monotonic() >= deadline:
                return events

    def replace(self, worker: int) -> None:
        self._restarts.plan(worker)

    def close(self) -> None:
        for actor in self._actors.values() if self._ray.is_initialized() else ():
            self._ray.kill(actor.handle)
        self._actors.clear()
        self._pending.clear()
        self.disconnect()

    def _sendable(self, argument: Tree, near: bool) -> bytes | Published | Any:
        """An argument as a message. A large one is stored, and only once if several workers in turn get it."""
        if self._stored.argument is not argument or near not in self._stored.where:
            message = encoded(argument)
            if message.nbytes < LARGE:
                return message.tobytes()
            if self._stored.argument is not argument:
                self._stored = Stored(argument)
            self._stored.where[near] = Published(message) if near else self._ray.put(message)
        return self._stored.where[near]

    def _start(self, number: int) -> None:
        name = f"worker-{number}-{secrets.token_hex(4)}"
        options = {"max_restarts": 0, "max_task_retries": 0, "name": name, "namespace": self._space, **self.options}
        if self.in_turn:
            options["scheduling_strategy"] = self._on_node(number)
        handle = self._kind.options(**options).remote(self._made, self._space, self._landmark.description)
        self._actors[number] = ActorHandle(number, name, handle)
        self._pending[handle.begin.remote()] = (self._actors[number], "begin", None)

    def _on_node(self, number: int) -> Any:
        """The node whose turn it is, of those that have CPUs; if it goes meanwhile, Ray takes another."""
        alive = [node for node in self._ray.nodes() if node["Alive"]]
        names = sorted(node["NodeID"] for node in [node for node in alive if node["Resources"].get("CPU")] or alive)
        return self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(names[number % len(names)], soft=True)

    def _done(self, timeout: float) -> list[Any]:
        """What has been answered; waits until something has, or for `timeout` seconds."""
        if not self._pending:  # no worker is there, and Ray refuses to wait for nothing
            time.sleep(timeout)
            return []
        done: list[Any] = self._ray.wait(list(self._pending), num_returns=1, timeout=timeout)[0]
        if done:
            done = self._ray.wait(list(self._pending), num_returns=len(self._pending), timeout=0)[0]
        return done

    def _event(self, future: Any) -> list[Event]:
        """What the answer to a call means."""
        actor, asked, _ = self._pending.pop(future)
        if self._actors.get(actor.number) is not actor:
            return []
        try:
            answer = self._ray.get(future)
        except self._ray.exceptions.RayActorError as error:
            return [self._gone(actor, str(error).strip().splitlines()[0])]
        except self._ray.exceptions.RayTaskError as error:
            raise EngineError(f"a worker could not start:\n{error}") from error
        actor.heard = time.monotonic()
        if asked == "begin":
            actor.begun, actor.near = True, answer
            self._restarts.ready(actor.number)
            return [Ready(actor.number, actor.name)]
        result = _kept(answer)
        if asked == "update":
            actor.asked = False
            return [Update(actor.number, value) for value in result]
        return [Answered(actor.number, result["ticket"], result.get("value"), result.get("error"))]

    def _ask_around(self) -> None:
        """Ask every worker for its updates, which also tells whether it is alive."""
        for actor in self._actors.values():
            if actor.begun and not actor.asked and time.monotonic() - actor.heard > min(1.0, self.lease / BEATS):
                actor.asked = True
                self._pending[actor.handle.updates.options(concurrency_group=CONCURRENT).remote()] = (actor, "update", None)

    def _silent(self) -> list[ActorHandle]:
        """Workers that were asked, and have not been heard of for longer than their lease."""
        now = time.monotonic()
        return [actor for actor in self._actors.values() if actor.asked and now - actor.heard > self.lease]

    def _gone(self, actor: ActorHandle, why: str) -> Gone:
        del self._actors[actor.number]
        with contextlib.suppress(Exception):
            self._ray.kill(actor.handle)
        if not actor.begun:
            self._restarts.died_early(actor.number, why)
        return Gone(actor.number, why)
