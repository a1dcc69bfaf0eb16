"""The places of a line-up: who else is in a game, seen from any of its seats. Team-mates come first, then opponents.

Where teams differ in size a line-up has as many places as the seats of any team need, and a seat leaves those empty for which
there is nobody on its side of the game.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from evolute.core.order import Lineup, Player


@dataclass(frozen=True)
class Places:
    """How many team-mates, and how many opponents, a seat of this game has at most."""

    mates: int
    rivals: int

    @classmethod
    def of(cls, teams: Sequence[int]) -> Places:
        sizes = Counter(teams).values()
        return cls(max(sizes) - 1, len(teams) - min(sizes))

    def __len__(self) -> int:
        return self.mates + self.rivals

    def lineup(self, player: Player) -> Lineup:
        """One player in all opponents' places, and the member itself in its mates'."""
        return (*(None,) * self.mates, *(player,) * self.rivals)


def taken(teams: Sequence[int], own: int) -> dict[int, int]:
    """Which place of a line-up each of the other seats has, for a player in seat `own`."""
    places = Places.of(teams)
    mates = [seat for seat, team in enumerate(teams) if team == teams[own] and seat != own]
    rivals = [seat for seat, team in enumerate(teams) if team != teams[own]]
    return {seat: place for place, seat in enumerate(mates)} | {seat: places.mates + n for n, seat in enumerate(rivals)}
