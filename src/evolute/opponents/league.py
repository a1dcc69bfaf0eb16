"""A league after AlphaStar (Vinyals et al. 2019, Methods, "Multi-agent learning"): agents that exploit keep the others honest.

Main agents play each other, and those of the past that they find hard. Main exploiters play the main agents alone, to find
their weak spots, and league exploiters the whole past. When an agent has been admitted to the past it goes on; a main exploiter
begins again from fresh weights, a league exploiter sometimes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from evolute.core.order import Player, Ref
from evolute.opponents.draw import drawn, weighted
from evolute.opponents.field import Field
from evolute.opponents.pfsp import priorities

Role = Literal["main", "main exploiter", "league exploiter"]
ROLES: tuple[Role, ...] = ("main", "main exploiter", "league exploiter", "league exploiter")
"""The roles of slots 0 to 3, and so on."""
HARD, FORGOTTEN = 0.5, 0.15
"""How often a main agent meets the past, by how hard it is, and those of it against which it has come to lose."""
LOSING, HOPELESS, WINNING = 0.3, 0.1, 0.7
RESET = 0.25


@dataclass(frozen=True)
class League:
    """Chooses opponents by role; agents are admitted when they beat all they play against, or have trained long enough."""

    mains: int
    exploiters: int

    def role(self, slot: int) -> Role:
        """What the member in a slot is there for."""
        return ROLES[slot % len(ROLES)]

    def __call__(self, field: Field, slot: int, rng: np.random.Generator) -> Player:
        match self.role(slot):
            case "main":
                return self._for_main(field, slot, rng)
            case "main exploiter":
                return self._for_main_exploiter(field, slot, rng)
        return _by(field, slot, field.past(slot), "even", rng)

    def is_admitted(self, field: Field, slot: int, turns: int) -> bool:
        """Whether a member's newest state joins the past, after this many turns since it last did or began."""
        role = self.role(slot)
        if turns >= (self.mains if role == "main" else self.exploiters):
            return True
        targets = [] if role == "main" else self._mains(field, slot) if role == "main exploiter" else field.past(slot)
        return bool(targets) and all(field.expected(slot, target) > WINNING for target in targets)

    def begins_again(self, slot: int, rng: np.random.Generator) -> bool:
        """Whether a member that was admitted begins again from fresh weights."""
        role = self.role(slot)
        return role == "main exploiter" or (role == "league exploiter" and rng.random() < RESET)

    def _mains(self, field: Field, slot: int) -> list[Player]:
        return [ref for other, ref in field.latest.items() if other != slot and self.role(other) == "main"]

    def _for_main(self, field: Field, slot: int, rng: np.random.Generator) -> Player:
        past, kind = field.past(slot), rng.random()
        if past and kind < HARD:
            return _by(field, slot, past, "hard", rng)
        if kind < HARD + FORGOTTEN and (lost := [one for one in past if field.expected(slot, one) < LOSING]):
            return drawn(lost, rng)
        return drawn([None, *self._mains(field, slot)], rng)

    def _for_main_exploiter(self, field: Field, slot: int, rng: np.random.Generator) -> Player:
        """A main agent; if that is far too strong, one of its past."""
        main = drawn(self._mains(field, slot), rng)
        if main is None or field.expected(slot, main) > HOPELESS:
            return main
        past: list[Player] = [one for one in field.pool if isinstance(main, Ref) and one.member == main.member]
        return _by(field, slot, past, "variance", rng) if past else main


def _by(
    field: Field, slot: int, players: list[Player], weighting: Literal["hard", "even", "variance"], rng: np.random.Generator
) -> Player:
    """One of the players, by how a member fares against them; None, the member itself, if there are none."""
    return weighted(players, priorities(field, slot, players, weighting), rng) if players else None


def league(*, mains: int = 8, exploiters: int = 16) -> League:
    """Main agents, main exploiters and league exploiters, 1 : 1 : 2, in slots 0, 1, 2 and 3, and so on.

    A main agent is admitted to the past after `mains` turns, an exploiter when it beats all its opponents, or after
    `exploiters` turns.
    """
    if mains < 1 or exploiters < 1:
        raise ValueError(f"mains={mains}, exploiters={exploiters}: must be at least 1 turn each")
    return League(mains, exploiters)
