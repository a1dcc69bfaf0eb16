"""When workers that died are started again: at once, or after a growing wait if they keep dying before they are ready."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

from evolute.core.protocols import EngineError

STARTS = 10
"""How often in a row a worker may die before it is ready, as long as none has ever been ready."""
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0
"""Seconds before a worker that died early is started again, doubled each time, and at most."""


@dataclass
class Restarts:
    """If no worker ever gets ready something is wrong here, and that ends the run. Once one was ready nothing does."""

    _early: dict[int, int] = field(default_factory=dict)
    _due: dict[int, float] = field(default_factory=dict)
    _ever_ready: bool = False

    def ready(self, worker: int) -> None:
        """A worker has begun its work."""
        self._ever_ready = True
        self._early.pop(worker, None)

    def died_early(self, worker: int, why: str) -> None:
        """A worker died before it was ready; raises EngineError if that has happened too often."""
        self._early[worker] = self._early.get(worker, 0) + 1
        if not self._ever_ready and self._early[worker] >= STARTS:
            raise EngineError(f"worker {worker} died {STARTS} times while it was starting ({why})")

    def plan(self, worker: int) -> None:
        """Start this worker again when its wait is over."""
        early = self._early.get(worker, 0) if self._ever_ready else 0
        self._due[worker] = time.monotonic() + (min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (early - 1)) if early else 0.0)

    def take_due(self) -> list[int]:
        """The workers to start now."""
        due = [worker for worker, when in self._due.items() if when <= time.monotonic()]
        for worker in due:
            del self._due[worker]
        return due

    def next_due(self) -> float:
        """When the next worker is to be started, by the monotonic clock."""
        return min(self._due.values(), default=math.inf)
