"""How fast a run goes and how long it will still take."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from evolute.core.population import Population
from evolute.core.stop import Stop
from evolute.report import formats

WINDOW = 10.0


@dataclass
class Pace:
    """Counts turns and steps over the last seconds, and over at least one turn of every member."""

    stop: Stop
    interval: int
    members: int
    _marks: deque[tuple[float, int, int]] = field(default_factory=deque)
    _turns: int = 0
    _steps: int = 0

    def count(self, turns: int, steps: int) -> None:
        now = time.monotonic()
        self._turns += turns
        self._steps += steps
        self._marks.append((now, self._turns, self._steps))
        while len(self._marks) > 2 and self._dispensable(self._marks[1], now):
            self._marks.popleft()

    def _dispensable(self, mark: tuple[float, int, int], now: float) -> bool:
        return now - mark[0] > WINDOW and self._turns - mark[1] >= self.members

    @property
    def speed(self) -> tuple[float, float]:
        """Turns and steps per second, of the whole population."""
        if len(self._marks) < 2:
            return 0.0, 0.0
        (start, turns, steps), (end, turns_now, steps_now) = self._marks[0], self._marks[-1]
        span = max(end - start, 1e-9)
        return (turns_now - turns) / span, (steps_now - steps) / span

    def share(self, population: Population, elapsed: float) -> float | None:
        """How much of the run is done, if that can be known."""
        horizon = self.stop.horizon(self.interval, self.members)
        shares = [] if self.stop.time is None else [elapsed / self.stop.time]
        if self.stop.total is not None:
            shares.append(sum(member.steps for member in population.members) / self.stop.total)
        if horizon is not None:
            shares.append(sum(min(m.turns, horizon) for m in population.members) / (horizon * len(population)))
        return min(max(shares), 1.0) if shares else None

    def text(self, population: Population, elapsed: float) -> str:
        """Speed and time left."""
        turns, steps = self.speed
        share = self.share(population, elapsed)
        parts = [f"{formats.rate(turns)} turns/s", f"{steps:,.0f} steps/s"]
        if share:
            left = elapsed * (1 - share) / share
            parts.append(f"{share:.0%}, {formats.seconds(left)} left")
        return ", ".join(parts)
