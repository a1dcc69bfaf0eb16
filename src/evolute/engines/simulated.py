"""An engine with a virtual clock: turns take the time that a script says, and fail when it says so.

The training is real, the waiting is not: for tests of asynchronous runs and models of slow machines.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from evolute.core.order import Order, Ref, Report
from evolute.core.worker import Worker

Duration = Callable[[Order], float]
Failure = Callable[[Order], bool]


@dataclass
class Simulated:
    """Runs up to `workers` cohorts at a time, all at once if None; a cohort takes as long as its slowest member."""

    worker: Worker
    duration: Duration = lambda order: 1.0
    failure: Failure = lambda order: False
    workers: int | None = None
    _clock: float = 0.0
    _queue: list[list[Order]] = field(default_factory=list)
    _running: list[tuple[float, int, list[Order]]] = field(default_factory=list)
    _ticket: count[int] = field(default_factory=count)

    def submit(self, orders: Sequence[Order]) -> None:
        self._queue.extend(self.worker.groups(orders))
        self._fill()

    def wait(self) -> list[Report]:
        """Advance the clock to the next end of a turn; all that end then are returned together."""
        if not self._running:
            return []
        self._clock = self._running[0][0]
        reports: list[Report] = []
        while self._running and self._running[0][0] == self._clock:
            _, _, orders = heapq.heappop(self._running)
            reports += self._train(orders)
        self._fill()
        return reports

    def keep(self, refs: set[Ref]) -> None:
        self.worker.keep(refs)

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        return self.worker.save(refs)

    def now(self) -> float:
        return self._clock

    def close(self) -> None:
        self._queue.clear()
        self._running.clear()

    def _train(self, orders: list[Order]) -> list[Report]:
        seconds = max(self.duration(order) for order in orders)
        failed = [Report(order, error="SimulatedError: scripted") for order in orders if self.failure(order)]
        well = [order for order in orders if not self.failure(order)]
        reports = failed + (self.worker.train(well) if well else [])
        return [replace(report, seconds=seconds) for report in reports]

    def _fill(self) -> None:
        while self._queue and (self.workers is None or len(self._running) < self.workers):
            orders = self._queue.pop(0)
            end = self._clock + max(self.duration(order) for order in orders)
            heapq.heappush(self._running, (end, next(self._ticket), orders))


def simulated(
    worker: Worker,
    limit: float | None,
    *,
    durations: list[float] | None = None,
    failures: list[tuple[int, int]] | None = None,
    workers: int | None = None,
) -> Simulated:
    """Virtual time: `durations` of a turn by member (repeated as needed), `failures` as (member, turn).

    A turn longer than `limit` fails when the limit is over.
    """
    script = durations or [1.0]
    failing = {Ref(*pair) for pair in failures or ()}

    def duration(order: Order) -> float:
        seconds = script[order.member % len(script)]
        return seconds if limit is None else min(seconds, limit)

    def failure(order: Order) -> bool:
        return order.ref in failing or (limit is not None and script[order.member % len(script)] > limit)

    return Simulated(worker, duration, failure, workers)
