"""What a chooser of opponents knows: who could be played against, and how it went so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Player, Ref
from evolute.core.population import Population


@dataclass(frozen=True)
class Field:
    """The players that a member may meet in its next turn.

    `latest` are the newest states of all members that have one, by slot; `pool` are past states, the oldest first; `guests` are
    bots and others from outside, by name. `expected(slot, player)` is the share of games, 0 to 1, that the member's latest
    state is expected to win against a player, by the games of its line of descent and by ratings.
    """

    population: Population
    latest: Mapping[int, Ref]
    pool: tuple[Ref, ...]
    guests: tuple[str, ...]
    expected: Callable[[int, Player], float]

    def others(self, slot: int) -> list[Ref]:
        """The newest states of all other members."""
        return [ref for other, ref in self.latest.items() if other != slot]


Choose = Callable[[Field, int, np.random.Generator], Player]
"""`choose(field, slot, rng)`: whom the member in a slot plays against at one table; None is the member itself, as it learns.

A plug-in `evolute/opponents/NAME.py` has a function NAME that takes its settings by keyword and returns a Choose. It must
also answer when nobody has trained yet: `latest` and `pool` are empty then.
"""
