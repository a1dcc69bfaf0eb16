"""The link to workers that are Ray actors. Ray's own retries are off: the leader decides what is tried again.

Calls and answers are messages of ours, which Ray carries. What a worker is built from is pickled by Ray.
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
from evolute.engines.links.wire import decoded, encoded

CONCURRENT = "concurrent"
BEATS = 5
"""How often per lease a worker is asked whether it is alive."""
Message = np.ndarray[Any, np.dtype[np.uint8]]


class RayWorker:
    """The actor: an object that `make` builds here, and the updates that it sends."""

    def __init__(self, make: Make, space: str) -> None:
        self._server, self._space, self._make = CallServer(self._add_update), space, make
        self._updates: list[Tree] = []
        self._others: dict[str, Any] = {}

    def begin(self) -> None:
        """Build the object."""
        self._server.target = self._make(self)

    def call(self, message: Message) -> Message:
        """Answer the leader."""
        return encoded(self._server.answer(decoded(message.data)))

    def call_concurrently(self, message: Message) -> Message:
        """Answer another worker."""
        return encoded(self._server.answer(decoded(message.data)))

    def updates(self) -> Message:
        """The updates since the last call; also a sign of life."""
        updates, self._updates = self._updates, []
        return encoded(updates)

    def send_update(self, value: Tree) -> None:
        self._server.send_update(value)

    def ask(self, address: str, method: str, argument: Tree) -> Tree:
        import ray

        try:
            if address not in self._others:
                self._others[address] = ray.get_actor(address, namespace=self._space)
            message = encoded({"ticket": 0, "method": method, "argument": argument})
            answer = ray.get(self._others[address].call_concurrently.options(concurrency_group=CONCURRENT).remote(message))
        except (ray.exceptions.RayError, ValueError) as error:
            raise ConnectionError(f"cannot reach worker {address}: {error}") from error
        message = decoded(
            answer.copy().data
        )  # a copy of our own: Ray's lies in its object store and stays there while it is used
        if "error" in message:
            raise ConnectionError(f"the worker {address} answered with an error:\n{message['error']}")
        return message["value"]

    def _add_update(self, message: Tree) -> None:
        self._updates.append(message["update"])


@dataclass(eq=False)
class ActorHandle:
    """An actor as its leader sees it."""

    number: int
    name: str
    handle: Any
    heard: float = field(default_factory=time.monotonic)
    begun: bool = False
    asked: bool = False


@dataclass(eq=False)
class RayLink:
    """A link to Ray actors, each with these Ray `options`. Closing it calls `disconnect`."""

    make: Make
    size: int
    lease: float
    options: Mapping[str, Any]
    disconnect: Callable[[], None]
    _space: str = field(default_factory=lambda: f"evolute-{secrets.token_hex(8)}")
    _actors: dict[int, ActorHandle] = field(default_factory=dict)
    _pending: dict[Any, tuple[ActorHandle, int | str]] = field(default_factory=dict)
    _restarts: Restarts = field(default_factory=Restarts)
    _tickets: count[int] = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        import ray

        self._ray: Any = ray
        self._kind = self._ray.remote(concurrency_groups={CONCURRENT: 2})(RayWorker)
        self._made = self._ray.put(self.make)
        for number in range(self.size):
            self._start(number)

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        ticket = next(self._tickets)
        message = encoded({"ticket": ticket, "method": method, "argument": argument})
        actor = self._actors[worker]
        call = actor.handle.call_concurrently.options(concurrency_group=CONCURRENT) if concurrent else actor.handle.call
        self._pending[call.remote(message)] = (actor, ticket)
        return ticket

    def poll(self, timeout: float | None = None) -> list[Event]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            for number in self._restarts.take_due():
                self._start(number)
            events = [event for future in self._done(0.0) for event in self._event(future)]
            events += self._expired()  # after what has come while nobody asked
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

    def _start(self, number: int) -> None:
        name = f"worker-{number}-{secrets.token_hex(4)}"
        options = {"max_restarts": 0, "max_task_retries": 0, "name": name, "namespace": self._space, **self.options}
        handle = self._kind.options(**options).remote(self._made, self._space)
        self._actors[number] = ActorHandle(number, name, handle)
        self._pending[handle.begin.remote()] = (self._actors[number], "begin")

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
        actor, asked = self._pending.pop(future)
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
            actor.begun = True
            self._restarts.ready(actor.number)
            return [Ready(actor.number, actor.name)]
        result = decoded(answer.copy().data)
        if asked == "update":
            actor.asked = False
            return [Update(actor.number, value) for value in result]
        return [Answered(actor.number, result["ticket"], result.get("value"), result.get("error"))]

    def _ask_around(self) -> None:
        """Ask every worker for its updates, which also tells whether it is alive."""
        for actor in self._actors.values():
            if actor.begun and not actor.asked and time.monotonic() - actor.heard > min(1.0, self.lease / BEATS):
                actor.asked = True
                self._pending[actor.handle.updates.options(concurrency_group=CONCURRENT).remote()] = (actor, "update")

    def _expired(self) -> list[Event]:
        now = time.monotonic()
        silent = [actor for actor in self._actors.values() if actor.asked and now - actor.heard > self.lease]
        return [self._gone(actor, f"silent for more than {self.lease:g} s") for actor in silent]

    def _gone(self, actor: ActorHandle, why: str) -> Gone:
        del self._actors[actor.number]
        with contextlib.suppress(Exception):
            self._ray.kill(actor.handle)
        if not actor.begun:
            self._restarts.died_early(actor.number, why)
        return Gone(actor.number, why)
