"""What a chooser of opponents knows: who could be played against, and how it went so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from evolute.core.order import Player, Ref
from evolute.core.population import Population


@dataclass(frozen=True, eq=False)
class Field:
    """The players that a member may meet in its next turn.

    `latest` are the newest states of all members that have one, by slot; `pool` are past states, the oldest first; `guests` are
    bots and others from outside, by name. `expected(slot, player)` is the share of games, 0 to 1, that the member's latest
    state is expected to win against a player, by the games of its line of descent and by ratings; it is 0.5 for a member
    without a state. `payoff(state, player)` is the same for any state.
    """

    population: Population
    latest: Mapping[int, Ref]
    pool: tuple[Ref, ...]
    guests: tuple[str, ...]
    expected: Callable[[int, Player], float]
    payoff: Callable[[Ref, Player], float]

    def others(self, slot: int) -> list[Ref]:
        """The newest states of all other members."""
        return [ref for other, ref in self.latest.items() if other != slot]

    def past(self, slot: int) -> list[Player]:
        """Who does not learn any more: the pool and the guests, but not the member's own newest state."""
        players: list[Player] = [*self.pool, *self.guests]
        return [player for player in players if player != self.latest.get(slot)]

    def rivals(self, slot: int) -> list[Player]:
        """Everybody else, each once: the newest states of all other members, the pool and the guests."""
        return list(dict.fromkeys([*self.others(slot), *self.past(slot)]))


Choose = Callable[[Field, int, np.random.Generator], Player]
"""`choose(field, slot, rng)`: whom the member in a slot plays against at one table; None is the member itself, as it learns.

A plug-in `evolute/opponents/NAME.py` has a function NAME that takes its settings by keyword and returns a Choose. It must
also answer when nobody has trained yet: `latest` and `pool` are empty then.
"""


@runtime_checkable
class Roles(Protocol):
    """A chooser whose members differ in what they are there for. Nobody inherits from a member of another role."""

    def role(self, slot: int) -> str:
        """What the member in a slot is there for."""

    def is_admitted(self, field: Field, slot: int, turns: int) -> bool:
        """Whether a member's newest state joins the pool, after this many turns since it last did or began."""

    def begins_again(self, slot: int, rng: np.random.Generator) -> bool:
        """Whether a member that was admitted begins again from fresh weights."""
