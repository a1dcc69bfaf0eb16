"""When a run is over: after a number of turns or steps of each member, after a time, or at a target score."""

from __future__ import annotations

from dataclasses import dataclass

from evolute.core.population import Member, Population, best


@dataclass(frozen=True)
class Stop:
    """The limits of a run; it ends at the first that is reached, and None sets no limit."""

    turns: int | None = None
    steps: int | None = None
    time: float | None = None
    score: float | None = None

    def open(self, member: Member) -> bool:
        """Whether this member may train another turn."""
        return (self.turns is None or member.turns < self.turns) and (self.steps is None or member.steps < self.steps)

    def allowed(self, member: Member, steps: int) -> int:
        """How many of these steps the member may still do."""
        return steps if self.steps is None else min(steps, self.steps - member.steps)

    def reached(self, population: Population, elapsed: float) -> str | None:
        """The reason to end the run now, if there is one."""
        top = best(population)
        if self.score is not None and top is not None and top.score is not None and top.score >= self.score:
            return f"reached the target score {self.score:g}"
        if self.time is not None and elapsed >= self.time:
            return f"used its {self.time:g} seconds"
        if not any(self.open(member) for member in population.members):
            by_steps = self.steps is not None and all(member.steps >= self.steps for member in population.members)
            if by_steps:
                return f"finished its {self.steps:,} steps per member"
            return f"finished its {self.turns:,} turn{'' if self.turns == 1 else 's'}"
        return None

    def horizon(self, interval: int) -> int | None:
        """How many turns a member can have at most, if that is known."""
        limits = [self.turns, None if self.steps is None else -(-self.steps // interval)]
        return min((limit for limit in limits if limit is not None), default=None)
