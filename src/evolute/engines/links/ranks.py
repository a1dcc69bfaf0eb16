"""This process among the ranks of an MPI job. One thread makes all MPI calls; others give it messages to send.

It looks for messages instead of waiting for one, which in most MPIs would keep a core busy, and looks less often the longer
nothing happens, or if ranks share cores: each look takes Python's lock from whoever trains. An error in that thread ends the
job, since all would wait.
"""

from __future__ import annotations

import atexit
import functools
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from evolute.core.protocols import EngineError
from evolute.core.tree import Tree
from evolute.engines.links.jobs import Job, Jobs
from evolute.engines.links.wire import Array, decoded, encoded

HEAD, BODY = 1, 2
"""Tags: messages, and the large arrays that follow one."""
PAUSES = ((5e-4, 0.0), (1e-2, 2e-5), (0.1, 2e-4), (1.0, 1e-3))
"""(seconds since something happened, pause between two looks until then)"""
CROWDED = ((0.1, 2e-4), (1.0, 1e-3))
"""The same where there are more ranks than cores: one that looks all the time keeps a core from the one that it waits for."""
LATER, LONGEST = 5e-3, 5e-2
"""After that the pause is this share of the time since something happened, and at most this many seconds."""
SIGNS = ("update", "alive")
"""Messages in the middle of a turn that nobody waits for: they do not count as something happening."""


@functools.cache
def world() -> Ranks:
    """This process among its ranks, from its first use until it ends."""
    made = Ranks()
    atexit.register(made.leave)
    return made


@dataclass(eq=False)
class Ranks:
    """Sends trees to other ranks. What comes in goes to `deliver`, in the thread that makes the MPI calls, or to the inbox.

    The first `workers` ranks train. The others, if there are any, act for them, and what they send has an inbox of its own.
    """

    comm: Any = None
    rank: int = -1
    size: int = 0
    workers: int = 0
    of_workers: Any = None
    """The communicator of those that train."""
    inbox: queue.SimpleQueue[tuple[int, Tree]] = field(default_factory=queue.SimpleQueue)
    from_actors: queue.SimpleQueue[tuple[int, Tree]] = field(default_factory=queue.SimpleQueue)
    tickets: count[int] = field(default_factory=lambda: count(1))
    deliver: Callable[[int, Tree], None] | None = None
    crowded: bool = False
    """Whether there are more ranks than cores on this machine."""
    _jobs: Jobs = field(default_factory=Jobs)
    _sending: list[tuple[Any, Array]] = field(default_factory=list)
    _begun: threading.Event = field(default_factory=threading.Event)
    _over: bool = False
    _error: str | None = None

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._live, daemon=True)
        self._thread.start()
        self._begun.wait()
        if self._error is not None:
            raise EngineError(f"engine=mpi needs mpi4py and an MPI library: pip install 'evolute[mpi]' ({self._error})")

    def arrange(self, actors: int) -> None:
        """Let so many ranks, or some more, act for each that trains; all ranks do this together."""
        if actors:
            self.workers = max(1, self.size // (1 + actors))
            self.do(self._split)
        else:
            self.workers, self.of_workers = self.size, self.comm

    @property
    def trains(self) -> bool:
        """Whether this rank trains, and does not act for another."""
        return self.rank < self.workers

    @property
    def team(self) -> list[int]:
        """The ranks that act for this one."""
        return list(range(self.workers + self.rank, self.size, self.workers))

    @property
    def leader(self) -> int:
        """The rank that this one acts for, or the one that leads those that train."""
        return 0 if self.trains else (self.rank - self.workers) % self.workers

    def send(self, rank: int, message: Tree) -> None:
        """Send a message; large arrays go as they lie in memory, so they must not change until they have arrived."""
        self._jobs.put(lambda: self._send(rank, message), _matters(message))

    def do(self, job: Job) -> None:
        """Do something with the communicator, after all that was to be sent before."""
        self._jobs.put(job)

    def take(self, source: int, message: Tree) -> None:
        """A message has come: for `deliver`, or the inbox if there is none yet."""
        if self.trains and source >= self.workers:
            self.from_actors.put((source, message))
        elif self.deliver is None:
            self.inbox.put((source, message))
        else:
            self.deliver(source, message)

    def leave(self) -> None:
        """Finish MPI when everything has been sent."""
        self._jobs.put(self._end)
        self._thread.join()

    def _live(self) -> None:
        try:
            import mpi4py

            mpi4py.rc.finalize = False
            from mpi4py import MPI
        except (ImportError, RuntimeError, OSError) as error:
            self._error = str(error)
            self._begun.set()
            return
        self.comm = MPI.COMM_WORLD.Dup()
        self.rank, self.size = self.comm.Get_rank(), self.comm.Get_size()
        self.workers, self.of_workers = self.size, self.comm
        self.crowded = self.comm.Split_type(MPI.COMM_TYPE_SHARED).Get_size() > (os.cpu_count() or 1)
        self._begun.set()
        try:
            self._attend(MPI.Status())
        except Exception:
            traceback.print_exc()
            sys.stderr.flush()
            self.comm.Abort(1)
        MPI.Finalize()

    def _attend(self, status: Any) -> None:
        acted = time.perf_counter()
        while not self._over or self._sending:
            idle = time.perf_counter() - acted
            if self._look(idle, status):
                acted = time.perf_counter()

    def _look(self, idle: float, status: Any) -> bool:
        """Do what is to be done, and say whether any of it matters; the longer nothing did, the longer the pause."""
        acted = False
        if (found := self._jobs.next(self._pause(idle))) is not None:
            job, acted = found
            job()
        while (message := self.comm.Improbe(tag=HEAD, status=status)) is not None:
            acted |= self._receive(message, status.Get_source(), status.Get_count())
        self._sending = [(request, kept) for request, kept in self._sending if not request.Test()]
        return acted

    def _pause(self, idle: float) -> float:
        pauses = CROWDED if self.crowded else PAUSES
        if self._sending:
            return pauses[0][1]
        return next((pause for until, pause in pauses if idle < until), min(LATER * idle, LONGEST))

    def _send(self, rank: int, message: Tree) -> None:
        bulk: list[Array] = []
        head = encoded(message, bulk)
        self._sending.append((self.comm.Isend(head, rank, HEAD), head))
        for array in bulk:
            flat = array.reshape(-1).view(np.uint8)
            self._sending.append((self.comm.Isend(flat, rank, BODY), flat))

    def _receive(self, message: Any, source: int, size: int) -> bool:
        head = np.empty(size, np.uint8)
        message.Recv(head)

        def bulk(dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array:
            array = np.empty(shape, dtype)
            request = self.comm.Irecv(array.reshape(-1).view(np.uint8), source, BODY)
            while self.crowded and not request.Test():
                time.sleep(CROWDED[0][1])
            request.Wait()
            return array

        tree = decoded(head.data, bulk)
        self.take(source, tree)
        return _matters(tree)

    def _split(self) -> None:
        self.of_workers = self.comm.Split(int(not self.trains), self.rank)

    def _end(self) -> None:
        self._over = True


def _matters(message: Tree) -> bool:
    return not any(sign in message for sign in SIGNS)
