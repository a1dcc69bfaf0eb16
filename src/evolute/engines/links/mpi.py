"""The link from rank 0 to all ranks of an MPI job, itself included, and what the other ranks do."""

from __future__ import annotations

import math
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from evolute.core.interrupt import SIGNALS
from evolute.core.order import Json
from evolute.core.protocols import EngineError, Followed
from evolute.core.tree import Tree
from evolute.engines.links.call_server import CallServer
from evolute.engines.links.collective import Move
from evolute.engines.links.link import Answered, Event, Make, Ready, Update
from evolute.engines.links.rank_endpoint import RankEndpoint
from evolute.engines.links.ranks import Ranks

BEATS = 5
"""How often per lease a rank shows that it is alive."""
BEAT = 5.0
"""Seconds between two signs of life of a rank that acts."""
GRACE = 2.0
"""Seconds that a rank has to end its turn when the leader is done."""
RESUME_ME = 75
"""The exit code for a job to resume by running the same command again (sysexits' EX_TEMPFAIL)."""


@dataclass(eq=False)
class MpiLink:
    """All ranks that train as workers. Rank 0 trains in a thread of its own, so that it can lead meanwhile."""

    ranks: Ranks
    make: Make
    lease: float
    _heard: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._server = CallServer(lambda message: self.ranks.inbox.put((0, message)))
        self._endpoint = RankEndpoint(self.ranks, self._server, lambda source, message: self.ranks.inbox.put((source, message)))
        self._endpoint.open(self.make)
        self._thread = threading.Thread(target=self._server.work, daemon=True)
        self._thread.start()
        self.ranks.inbox.put((0, {"ready": "0"}))
        for rank in range(1, self.size):
            self.ranks.send(rank, {"begin": self.lease / BEATS})

    @property
    def size(self) -> int:
        return self.ranks.workers

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        ticket = next(self.ranks.tickets)
        message = {"ticket": ticket, "method": method, "argument": argument, "concurrent": concurrent}
        if worker == 0:
            self._server.take(message)
        else:
            self.ranks.send(worker, message)
        return ticket

    def poll(self, timeout: float | None = None) -> list[Event]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            events: list[Event] = []
            with suppress(queue.Empty):
                pause = min(self.lease / BEATS, max(0.0, deadline - time.monotonic()))
                events += self._event(*self.ranks.inbox.get(timeout=pause))
                while True:
                    events += self._event(*self.ranks.inbox.get_nowait())
            self._check()
            if events or time.monotonic() >= deadline:
                return events

    def replace(self, worker: int) -> None:
        raise EngineError(f"rank {worker} is gone, and MPI cannot replace it: run the same command again to resume")

    def exchange(self, moves: Sequence[Move]) -> None:
        """Make moves by collective calls; every rank must be idle."""
        over = threading.Event()
        for rank in range(1, self.size):
            self.ranks.send(rank, {"exchange": [move.to_json() for move in moves]})

        def job() -> None:
            self._endpoint.exchange(moves)
            over.set()

        self.ranks.do(job)
        over.wait()

    def close(self) -> None:
        for rank in range(1, self.size):
            self.ranks.send(rank, {"leave": True})
        self._server.leave()
        self._thread.join(1.0)

    def _event(self, rank: int, message: Tree) -> list[Event]:
        if rank >= self.size:
            return []  # it acted for somebody in the last run
        self._heard[rank] = time.monotonic()
        match message:
            case {"ready": address}:
                return [Ready(rank, address)]
            case {"failed": error}:
                raise EngineError(f"rank {rank} could not start:\n{error}")
            case {"update": value}:
                return [Update(rank, value)]
            case {"ticket": ticket}:
                return [Answered(rank, ticket, message.get("value"), message.get("error"))]
        return []

    def _check(self) -> None:
        """MPI cannot replace a rank: one that is silent for longer than its lease ends the job, which can be resumed."""
        if silent := [rank for rank, heard in self._heard.items() if rank and time.monotonic() - heard > self.lease]:
            end_job(self.ranks, silent[0], self.lease)


def end_job(ranks: Ranks, silent: int, lease: float) -> None:
    """End the job because of a rank that was silent for longer than its lease."""
    print(f"rank {silent} was silent for more than {lease:g} s: run the same command again to resume", file=sys.stderr)
    ranks.do(lambda: ranks.comm.Abort(RESUME_ME))
    threading.Event().wait()


@contextmanager
def leading(ranks: Ranks, build: Callable[[Json], Make]) -> Iterator[Callable[[Json], None]]:
    """On rank 0, a way to tell the others what to build; on those, work for it until it is done, then raise Followed.

    Ranks that do not train act for one that does.
    """
    if ranks.rank != 0:
        raise Followed(follow(ranks, build))
    last: Json = None

    def announce(opening: Json) -> None:
        nonlocal last
        last = opening
        for rank in range(1, ranks.size):
            ranks.send(rank, {"open": opening})

    try:
        yield announce
    except BaseException:
        last = None
        raise
    finally:
        for rank in range(1, ranks.size):
            ranks.send(rank, {"over": last})


def follow(ranks: Ranks, build: Callable[[Json], Make]) -> Json:
    """On other ranks: train or act until rank 0 is done; returns the last opening that it announced."""
    make: Make | None = None
    with _signals_ignored():
        while True:
            _, message = ranks.inbox.get()
            match message:
                case {"over": last}:
                    return last
                case {"open": opening}:
                    make = _built(ranks, build, opening)
                    if make is not None and not ranks.trains:
                        act(ranks, make, opening)
                case {"begin": beat} if make is not None:
                    _serve(ranks, make, beat)


def _built(ranks: Ranks, build: Callable[[Json], Make], opening: Json) -> Make | None:
    try:
        return build(opening)
    except Exception:
        ranks.send(ranks.leader, {"failed": traceback.format_exc()})
        return None


def _serve(ranks: Ranks, make: Make, beat: float) -> None:
    """Answer one engine of the leader until it closes."""
    server = CallServer(lambda message: ranks.send(0, message))
    over = threading.Event()

    def other(source: int, message: Tree) -> None:
        if "ticket" in message:
            server.take(message)
            return
        if "leave" in message:
            server.leave()
            threading.Thread(target=_end_if_late, args=(ranks, over), daemon=True).start()
            return
        ranks.inbox.put((source, message))

    RankEndpoint(ranks, server, other).open(make)
    for source, message in _waiting(ranks):  # the leader may have closed before this rank had built its learner
        other(source, message)
    ranks.send(0, {"ready": str(ranks.rank)})
    threading.Thread(target=_beat, args=(ranks, beat, over), daemon=True).start()
    server.work()
    over.set()
    ranks.deliver = None


def act(ranks: Ranks, make: Make, opening: Json) -> None:
    """Answer the rank that this one acts for, until the one that leads all has something else in mind."""
    server = CallServer(lambda message: ranks.send(ranks.leader, message))
    over = threading.Event()

    def other(source: int, message: Tree) -> None:
        match message:
            case {"ticket": _}:
                server.take(message)
            case {"hello": _}:
                ranks.send(source, {"ready": str(ranks.rank)})
            case {"open": again} if again == opening:
                pass  # the same run goes on
            case _:
                ranks.inbox.put((source, message))
                server.leave()
                threading.Thread(target=_end_if_late, args=(ranks, over), daemon=True).start()

    RankEndpoint(ranks, server, other).open(make)
    for source, message in _waiting(ranks):
        other(source, message)
    threading.Thread(target=_beat, args=(ranks, BEAT, over), daemon=True).start()
    server.work()
    over.set()
    ranks.deliver = None


def _waiting(ranks: Ranks) -> list[tuple[int, Tree]]:
    """The messages that have come meanwhile, in order."""
    messages: list[tuple[int, Tree]] = []
    with suppress(queue.Empty):
        while True:
            messages.append(ranks.inbox.get_nowait())
    return messages


def _beat(ranks: Ranks, seconds: float, over: threading.Event) -> None:
    while not over.wait(seconds):
        ranks.send(ranks.leader, {"alive": True})


def _end_if_late(ranks: Ranks, over: threading.Event) -> None:
    """End the process if its turn does not end."""
    if not over.wait(GRACE):
        ranks.leave()
        os._exit(0)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Ignore signals, which go to all ranks: the leader acts on them and tells the others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
