"""Mostly the newest, now and then the past, as OpenAI Five was trained (Berner et al. 2019, arXiv 1912.06680, section 3.2)."""

from __future__ import annotations

import numpy as np

from evolute.core.order import Player
from evolute.opponents.draw import drawn
from evolute.opponents.field import Choose, Field


def latest(*, newest: float = 0.8) -> Choose:
    """With probability `newest` a member's newest state, its own being itself as it learns; else one of the pool or a guest."""
    if not 0 <= newest <= 1:
        raise ValueError(f"newest={newest}: must be a probability in [0, 1]")

    def choose(field: Field, slot: int, rng: np.random.Generator) -> Player:
        past = field.past(slot)
        return drawn([None, *field.others(slot)], rng) if rng.random() < newest or not past else drawn(past, rng)

    return choose
