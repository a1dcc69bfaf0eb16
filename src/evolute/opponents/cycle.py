"""The other members in turn: a round robin, in which nobody is left out by chance."""

from __future__ import annotations

import numpy as np

from evolute.core.order import Player
from evolute.opponents.field import Choose, Field


def cycle() -> Choose:
    """Each turn the newest state of the next other member, beginning with the one in the next slot; guests come last."""

    def choose(field: Field, slot: int, rng: np.random.Generator) -> Player:
        later = [ref for other, ref in sorted(field.latest.items()) if other > slot]
        earlier = [ref for other, ref in sorted(field.latest.items()) if other < slot]
        players: list[Player] = [*later, *earlier, *field.guests]
        return players[field.population[slot].turns % len(players)] if players else None

    return choose
