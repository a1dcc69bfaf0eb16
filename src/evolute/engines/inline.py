"""The engine that trains in this process, one cohort after the other.

With a time limit it trains in a child process, which can be killed when it hangs.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from evolute.core.order import Order, Ref, Report
from evolute.core.worker import Worker
from evolute.engines.trainer_process import CohortTrainer, TrainerProcess

MOMENT = 0.02


@dataclass
class Inline:
    """Trains the cohorts in the order in which they were submitted."""

    worker: CohortTrainer
    _waiting: deque[list[Order]] = field(default_factory=deque)

    def submit(self, orders: Sequence[Order]) -> None:
        self._waiting.extend(self.worker.groups(orders))

    def wait(self) -> list[Report]:
        """Train the next cohort; if they are short, as many as fit into a moment, to be journalled together."""
        reports: list[Report] = []
        started = time.monotonic()
        while self._waiting and (not reports or time.monotonic() - started < MOMENT):
            reports += self.worker.train(self._waiting.popleft())
        return reports

    def keep(self, refs: set[Ref]) -> None:
        self.worker.keep(refs)

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        return self.worker.save(refs)

    def now(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        if isinstance(self.worker, TrainerProcess):
            self.worker.close()


def inline(worker: Worker, limit: float | None) -> Inline:
    """Trains in this process; with `limit`, the seconds that a turn may take, in a child process that can be killed."""
    return Inline(worker if limit is None else TrainerProcess(worker, limit))
