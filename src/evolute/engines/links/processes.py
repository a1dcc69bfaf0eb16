"""The link to worker processes on this machine, each pinned to its share of the cores.

The leader's end is a pipe that only the worker inherits, so nothing listens for it. The worker's object comes pickled over
that pipe, from the process that started it; everything else is trees.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection, Pipe

import cloudpickle

from evolute.core.cores import cores
from evolute.core.protocols import EngineError
from evolute.core.tree import Tree
from evolute.engines.links.call_server import CallServer
from evolute.engines.links.link import Answered, Event, Gone, Late, Make, Ready, Update
from evolute.engines.links.peers import Peers, listen
from evolute.engines.links.restarts import Restarts
from evolute.engines.links.wire import decoded, encoded

START_LIMIT = 120.0
"""Seconds that a worker may take to start."""
BEATS = 5
"""How often per lease a worker shows that it is alive."""
GRACE = 2.0
"""Seconds that a worker has to end by itself."""
ROOM = 1 << 22
"""Bytes that may be under way to a worker before the sender waits, if the system allows as many."""


@dataclass(eq=False)
class WorkerProcess:
    """A worker process as its leader sees it. Threads read and write, so that it never blocks the leader."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: Connection
    inbox: queue.SimpleQueue[tuple[WorkerProcess, Tree]]
    outbox: queue.SimpleQueue[bytes | None] = field(default_factory=queue.SimpleQueue)
    heard: float = field(default_factory=time.monotonic)
    begun: bool = False

    def __post_init__(self) -> None:
        for task in (self._read, self._write):
            threading.Thread(target=task, daemon=True).start()

    def end(self, grace: float = 0.0) -> None:
        """Ask it to end, then kill it and all that it started."""
        self.outbox.put(None)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(grace or 0.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, 9)
        self.process.wait()

    def fate(self) -> str:
        """How the process ended."""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            return "it closed its connection"
        return f"signal {-code}" if code < 0 else f"exit code {code}"

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self.inbox.put((self, decoded(self.pipe.recv_bytes())))
        self.outbox.put(None)
        self.inbox.put((self, None))

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (message := self.outbox.get()) is not None:
                self.pipe.send_bytes(message)
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(self.pipe.fileno())) as line:
            line.shutdown(socket.SHUT_WR)  # closing alone would not be seen while the other thread reads


def _widen(pipe: Connection) -> None:
    """Let messages like a network's weights be sent in one go."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(pipe.fileno())) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, ROOM)


@dataclass(eq=False)
class ProcessLink:
    """A link to worker processes, each with an object that `make` builds there."""

    make: Make
    size: int
    lease: float
    _inbox: queue.SimpleQueue[tuple[WorkerProcess, Tree]] = field(default_factory=queue.SimpleQueue)
    _workers: dict[int, WorkerProcess] = field(default_factory=dict)
    _given_up: list[WorkerProcess] = field(default_factory=list)
    _restarts: Restarts = field(default_factory=Restarts)
    _token: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    _tickets: count[int] = field(default_factory=lambda: count(1))
    _payload: bytes = b""

    def __post_init__(self) -> None:
        try:
            self._payload = bytes(cloudpickle.dumps((self.make, self._token, self.lease / BEATS)))
        except Exception as error:
            raise EngineError(f"this object cannot be sent to another process: {error}") from error
        for number in range(self.size):
            self._start(number)

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        ticket = next(self._tickets)
        message = {"ticket": ticket, "method": method, "argument": argument, "concurrent": concurrent}
        self._workers[worker].outbox.put(encoded(message).tobytes())
        return ticket

    def poll(self, timeout: float | None = None) -> list[Event]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            for number in self._restarts.take_due():
                self._start(number)
            events = self._arrived(0.0)
            events += self._expired()  # after what has come while nobody asked
            until = min(deadline, self._restarts.next_due())
            events += self._arrived(0.0 if events else min(self.lease / BEATS, max(0.0, until - time.monotonic())))
            if events or time.monotonic() >= deadline:
                return events

    def replace(self, worker: int) -> None:
        self._restarts.plan(worker)

    def close(self) -> None:
        for old in self._given_up:
            old.end()
        for worker in self._workers.values():
            worker.outbox.put(None)
        deadline = time.monotonic() + GRACE
        for worker in self._workers.values():
            worker.end(max(0.0, deadline - time.monotonic()))
        self._workers.clear()

    def _start(self, number: int) -> None:
        here, there = Pipe()
        _widen(here)
        _widen(there)
        process = subprocess.Popen(
            [sys.executable, "-m", "evolute.engines.links.processes", str(there.fileno()), *map(str, share(number, self.size))],
            pass_fds=[there.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        there.close()
        self._workers[number] = WorkerProcess(number, process, here, self._inbox)
        self._workers[number].outbox.put(self._payload)

    def _arrived(self, pause: float) -> list[Event]:
        """What all messages mean that are there, or that come first within the pause."""
        events: list[Event] = []
        with contextlib.suppress(queue.Empty):
            events += self._event(*self._inbox.get(timeout=pause))
            while True:
                events += self._event(*self._inbox.get_nowait())
        return events

    def _event(self, worker: WorkerProcess, message: Tree) -> list[Event]:
        """What a message means; None is the end of the connection."""
        worker.heard = time.monotonic()
        if worker in self._given_up:
            self._given_up.remove(worker)
            worker.end()
            return [Late(worker.number)] if message is not None else []
        if self._workers.get(worker.number) is not worker:
            return []
        if message is None:
            return [self._gone(worker, worker.fate())]
        match message:
            case {"ready": address}:
                worker.begun = True
                self._restarts.ready(worker.number)
                return [Ready(worker.number, address)]
            case {"failed": error}:
                raise EngineError(f"a worker could not start:\n{error}")
            case {"update": value}:
                return [Update(worker.number, value)]
            case {"ticket": ticket}:
                return [Answered(worker.number, ticket, message.get("value"), message.get("error"))]
        return []

    def _expired(self) -> list[Event]:
        """Give up workers that were silent for longer than their lease, and end those that stay silent."""
        now = time.monotonic()
        for old in [old for old in self._given_up if now - old.heard > 2 * self.lease]:
            self._given_up.remove(old)
            old.end()
        silent = [w for w in self._workers.values() if now - w.heard > (self.lease if w.begun else START_LIMIT)]
        self._given_up += silent
        return [
            self._gone(worker, f"silent for more than {self.lease if worker.begun else START_LIMIT:g} s") for worker in silent
        ]

    def _gone(self, worker: WorkerProcess, why: str) -> Gone:
        del self._workers[worker.number]
        if worker not in self._given_up:
            worker.end()
        if not worker.begun:
            self._restarts.died_early(worker.number, why)
        return Gone(worker.number, why)


def share(number: int, size: int) -> list[int]:
    """A worker's share of the cores that this process may use; with more workers than cores several share one."""
    there = cores()
    first = number * len(there) // size
    return there[first : max(first + 1, (number + 1) * len(there) // size)]


@dataclass(frozen=True)
class ProcessContext:
    """How the object in a worker process reaches the others."""

    send_update: Callable[[Tree], None]
    ask: Callable[[str, str, Tree], Tree]


def serve(pipe: Connection) -> None:
    """In a worker: build its object, then answer calls until the leader closes the pipe or dies."""
    make, token, beat = cloudpickle.loads(pipe.recv_bytes())
    lock = threading.Lock()

    def send(message: Tree) -> None:
        with contextlib.suppress(OSError), lock:
            pipe.send_bytes(encoded(message).data)

    server = CallServer(send)
    try:
        server.target = make(ProcessContext(server.send_update, Peers(token).ask))
    except Exception as error:
        send({"failed": f"{type(error).__name__}: {error}"})
        return
    send({"ready": listen(token, server.answer_peer)})
    threading.Thread(target=_listen, args=(pipe, server, beat), daemon=True).start()
    server.work()


def _listen(pipe: Connection, server: CallServer, beat: float) -> None:
    """Take the leader's messages and send signs of life; without a leader, end at once."""
    threading.Thread(target=_beat, args=(server, beat), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        while True:
            server.take(decoded(pipe.recv_bytes()))
    os.killpg(0, 9)


def _beat(server: CallServer, seconds: float) -> None:
    while True:
        time.sleep(seconds)
        server.send({"alive": True})


if __name__ == "__main__":
    with contextlib.suppress(AttributeError):
        os.sched_setaffinity(0, map(int, sys.argv[2:]))
    serve(Connection(int(sys.argv[1])))
