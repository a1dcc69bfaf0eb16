"""When a run is over: after some turns or steps, after a time, at a target score, or when scores no longer rise."""

from __future__ import annotations

from dataclasses import dataclass

from evolute.core.plateau import Plateau
from evolute.core.population import Member, Population, best

NEW = Plateau()
"""Nothing has been found yet."""


@dataclass(frozen=True)
class Stop:
    """The limits of a run; it ends at the first that is reached, and None sets no limit.

    `total` is for the steps of all members together, `patience` for turns of each member without a new best score.
    """

    turns: int | None = None
    steps: int | None = None
    time: float | None = None
    score: float | None = None
    total: int | None = None
    patience: int | None = None

    def open(self, member: Member) -> bool:
        """Whether this member may train another turn."""
        return (self.turns is None or member.turns < self.turns) and (self.steps is None or member.steps < self.steps)

    def allowed(self, member: Member, steps: int, share: int | None = None) -> int:
        """How many of these steps the member may still do, if its `share` of what is left for all of them is no less."""
        limits = (steps, None if self.steps is None else self.steps - member.steps, share)
        return min(limit for limit in limits if limit is not None)

    def share(self, population: Population, members: int) -> int | None:
        """The steps that each of so many members may do of what is left for all; None if there is no such limit."""
        return None if self.total is None else self._left(population, self.total) // members

    def reached(self, population: Population, elapsed: float = 0.0, plateau: Plateau = NEW) -> str | None:
        """The reason to end the run now, if there is one."""
        top = best(population)
        if self.score is not None and top is not None and top.score is not None and top.score >= self.score:
            return f"reached the target score {self.score:g}"
        if self.time is not None and elapsed >= self.time:
            return f"used its {self.time:g} seconds"
        if self.patience is not None and plateau.turns >= self.patience * len(population):
            return f"found no new best score in {_turns(self.patience)}"
        if self.total is not None and self._left(population, self.total) < len(population):
            return f"finished its {self.total:,} steps of all members together"
        if not any(self.open(member) for member in population.members):
            by_steps = self.steps is not None and all(member.steps >= self.steps for member in population.members)
            if by_steps:
                return f"finished its {self.steps:,} steps per member"
            return f"finished its {_turns(self.turns or 0)}"
        return None

    def budget(self, size: int) -> int | None:
        """How many steps a member can do at most, if that is known; the mean where members share a budget."""
        limits = (self.steps, None if self.total is None else self.total // size)
        return min((limit for limit in limits if limit is not None), default=None)

    def horizon(self, interval: int, size: int) -> int | None:
        """How many turns a member can have at most, if that is known; the mean where members share a budget."""
        budget = self.budget(size)
        limits = (self.turns, None if budget is None else -(-budget // interval))
        return min((limit for limit in limits if limit is not None), default=None)

    def rules(self) -> list[str]:
        """What ends the run, a phrase for each limit."""
        return [
            *([f"{_turns(self.turns)} of each member"] if self.turns is not None else []),
            *([f"{self.steps:,} steps of each member"] if self.steps is not None else []),
            *([f"{self.total:,} steps of all members together"] if self.total is not None else []),
            *([f"{self.time:g} seconds of training"] if self.time is not None else []),
            *([f"a score of {self.score:g}"] if self.score is not None else []),
            *([f"{_turns(self.patience)} without a new best score"] if self.patience is not None else []),
        ]

    def _left(self, population: Population, total: int) -> int:
        """The steps that nobody has done or been ordered to do."""
        used = sum(member.steps for member in population.members)
        return total - used - sum(order.steps for order in population.running)


def _turns(number: int) -> str:
    return f"{number:,} turn{'' if number == 1 else 's'}"
