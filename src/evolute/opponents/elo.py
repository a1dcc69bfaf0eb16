"""Those of like strength, as in capture the flag (FTW, Jaderberg et al. 2019, arXiv 1807.01281, section 3)."""

from __future__ import annotations

import math

import numpy as np

from evolute.core.order import Player
from evolute.opponents.draw import weighted
from evolute.opponents.field import Choose, Field

SPREAD = 1 / 6


def elo(*, spread: float = SPREAD) -> Choose:
    """Anybody else, more often the nearer to 1/2 the share of games is that the member is expected to win against them.

    The weight is that of a normal distribution around 1/2 with a standard deviation of `spread`.
    """
    if not spread > 0:
        raise ValueError(f"spread={spread}: must lie above 0")

    def choose(field: Field, slot: int, rng: np.random.Generator) -> Player:
        rivals = field.rivals(slot)
        weights = [math.exp(-0.5 * ((field.expected(slot, rival) - 0.5) / spread) ** 2) for rival in rivals]
        return weighted(rivals, weights, rng)

    return choose
