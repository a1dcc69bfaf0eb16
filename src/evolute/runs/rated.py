"""The ratings of a run's members, as its user sees them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evolute.core.population import Population, Turn, descent
from evolute.core.ranking import rank_key
from evolute.ratings.scale import chance_below, chance_of_best


class MemberRating(NamedTuple):
    """The rating of a member's state after a turn, and its standard deviation, which is 0 if ratings are Elo's."""

    member: int
    turn: int
    rating: float
    deviation: float

    def __str__(self) -> str:
        return f"{round(self.rating)} ± {self.deviation:.0f}" if self.deviation else f"{round(self.rating)}"


@dataclass(frozen=True, repr=False)
class RunRatings:
    """The members of a run by rating, the best first; empty if they train alone or have not played yet.

    `lines` are the ratings along each member's line of descent, from its first rated ancestor to the member, by member.
    """

    members: tuple[MemberRating, ...]
    lines: dict[int, tuple[MemberRating, ...]]

    @classmethod
    def of(cls, population: Population) -> RunRatings:
        """The ratings of a population."""
        latest = sorted(
            (turn for turn in population.latest if turn.deviation is not None), key=lambda turn: rank_key(turn.score)
        )
        lines = {turn.ref.member: tuple(_line(turn)) for turn in latest}
        return cls(tuple(line[-1] for line in lines.values()), lines)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, place: int) -> MemberRating:
        return self.members[place]

    def __iter__(self) -> Iterator[MemberRating]:
        return iter(self.members)

    @property
    def certainty(self) -> float | None:
        """The probability that the first is the best of all, taking ratings as independent.

        None if there is nobody else, or if ratings have no deviations.
        """
        if not self._are_sure:
            return None
        return chance_of_best([one.rating for one in self.members], [one.deviation for one in self.members])

    @property
    def lead(self) -> float | None:
        """The probability that the first is better than the second."""
        if not self._are_sure:
            return None
        one, other = self.members[:2]
        return 1 - chance_below(one.rating - other.rating, float(np.hypot(one.deviation, other.deviation)), 0.5)

    @property
    def sentence(self) -> str:
        """Who is best, and how sure that is."""
        if len(self.members) < 2:
            return ""
        first, second = (one.member for one in self.members[:2])
        if self.certainty is None or self.lead is None:
            return f"member {first} has the highest rating; Elo ratings do not tell how sure that is"
        lead = f"better than member {second} with probability {self.lead:.2f}"
        return f"member {first} is best with probability {self.certainty:.2f} ({lead})"

    def __repr__(self) -> str:
        if not self.members:
            return "no ratings: members train alone, or have not played yet"
        rows = [f"member {one.member:>3}  {one!s:>12}" for one in self.members]
        return "\n".join([*rows, self.sentence] if self.sentence else rows)

    @property
    def _are_sure(self) -> bool:
        return len(self.members) > 1 and any(one.deviation > 0 for one in self.members)


def _line(turn: Turn) -> list[MemberRating]:
    """The ratings along a line of descent, the oldest first."""
    line = [one for one in descent(turn) if one.score is not None and one.deviation is not None]
    return [MemberRating(*one.ref, one.score or 0.0, one.deviation or 0.0) for one in reversed(line)]
