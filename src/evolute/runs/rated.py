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
    """The rating of a member's state after a turn, and its standard deviation, which is 0 if ratings are Elo's.

    A rating `by_gain` is a mean return, not a number of Elo's points.
    """

    member: int
    turn: int
    rating: float
    deviation: float
    by_gain: bool = False

    def __str__(self) -> str:
        return rating_text(self.rating, self.deviation, by_gain=self.by_gain)


@dataclass(frozen=True, repr=False)
class RunRatings:
    """The members of a run by rating, the best first; empty if they train alone or have not played yet.

    `lines` are the ratings along each member's line of descent, from its first rated ancestor to the member, by member.
    """

    members: tuple[MemberRating, ...]
    lines: dict[int, tuple[MemberRating, ...]]

    @classmethod
    def of(cls, population: Population, *, by_gain: bool = False) -> RunRatings:
        """The ratings of a population, which are mean returns if they are `by_gain`."""
        latest = sorted(
            (turn for turn in population.latest if turn.deviation is not None), key=lambda turn: rank_key(turn.score)
        )
        lines = {turn.ref.member: tuple(_line(turn, by_gain=by_gain)) for turn in latest}
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
            what = "mean return" if self.members[0].by_gain else "rating; Elo ratings do not tell how sure that is"
            return f"member {first} has the highest {what}"
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


def rating_text(rating: float, deviation: float, *, by_gain: bool) -> str:
    """A rating and its deviation, if that is known: returns with two more places than Elo's points."""
    places = 2 if by_gain else 0
    text = f"{round(rating, places) + 0.0:.{places}f}"
    return f"{text} ± {deviation:.{places}f}" if deviation else text


def _line(turn: Turn, *, by_gain: bool) -> list[MemberRating]:
    """The ratings along a line of descent, the oldest first."""
    line = [one for one in descent(turn) if one.score is not None and one.deviation is not None]
    return [MemberRating(*one.ref, one.score or 0.0, one.deviation or 0.0, by_gain) for one in reversed(line)]
