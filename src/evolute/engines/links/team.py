"""The link from a rank that trains to those that act for it. They serve it from the start of the job to its end."""

from __future__ import annotations

import math
import queue
import time
from contextlib import suppress
from dataclasses import dataclass, field

from evolute.core.protocols import EngineError
from evolute.core.tree import Tree
from evolute.engines.links.link import Answered, Event, Ready
from evolute.engines.links.mpi import end_job
from evolute.engines.links.ranks import Ranks

TICK = 1.0
"""Seconds between two looks at whether a rank is silent."""


@dataclass(eq=False)
class TeamLink:
    """The ranks that act for this one, as workers. MPI ends the job if one of them dies."""

    ranks: Ranks
    lease: float
    _heard: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._team = self.ranks.team
        for rank in self._team:
            self.ranks.send(rank, {"hello": True})

    @property
    def size(self) -> int:
        return len(self._team)

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        ticket = next(self.ranks.tickets)
        message = {"ticket": ticket, "method": method, "argument": argument, "concurrent": concurrent}
        self.ranks.send(self._team[worker], message)
        return ticket

    def poll(self, timeout: float | None = None) -> list[Event]:
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            events: list[Event] = []
            with suppress(queue.Empty):
                pause = min(TICK, max(0.0, deadline - time.monotonic()))
                events += self._event(*self.ranks.from_actors.get(timeout=pause))
                while True:
                    events += self._event(*self.ranks.from_actors.get_nowait())
            now = time.monotonic()
            if silent := [rank for rank, heard in self._heard.items() if now - heard > self.lease]:
                end_job(self.ranks, silent[0], self.lease)
            if events or now >= deadline:
                return events

    def replace(self, worker: int) -> None:
        raise EngineError(f"rank {self._team[worker]} is gone, and MPI cannot replace it: run the same command again to resume")

    def close(self) -> None:
        """Nothing ends here: the ranks wait for the next one who greets them, or for the end of the job."""

    def _event(self, rank: int, message: Tree) -> list[Event]:
        if rank not in self._team:
            return []  # it acted for this one in the last run
        self._heard[rank] = time.monotonic()
        worker = self._team.index(rank)
        match message:
            case {"ready": address}:
                return [Ready(worker, address)]
            case {"failed": error}:
                raise EngineError(f"rank {rank} could not start:\n{error}")
            case {"ticket": ticket}:
                return [Answered(worker, ticket, message.get("value"), message.get("error"))]
        return []
