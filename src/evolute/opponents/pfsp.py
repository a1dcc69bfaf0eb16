"""Prioritised fictitious self-play: those more often that are harder to beat (AlphaStar, Vinyals et al. 2019, Methods)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from evolute.core.order import Player
from evolute.opponents.draw import weighted
from evolute.opponents.field import Choose, Field
from evolute.ratings.scale import Floats

Weighting = Literal["hard", "linear", "even", "variance", "published"]
WEIGHTS: dict[Weighting, Callable[[Floats], Floats]] = {
    "hard": lambda x: (1 - x) ** 2,
    "linear": lambda x: 1 - x,
    "even": lambda x: np.minimum(0.5, 1 - x),
    "variance": lambda x: x * (1 - x),
    "published": lambda x: (x.max() - x) ** 3,
}
"""The weight of an opponent by the share x of games that the member is expected to win against it."""


def pfsp(*, weighting: Weighting = "hard") -> Choose:
    """Anybody else, now or in the past, by the share x of games that the member is expected to win against them.

    `weighting` is `hard` for (1-x)², `linear` for 1-x, `even` for min(1/2, 1-x), `variance` for x(1-x), and `published`
    for Lamarckian's (max x - x)³, which never meets whom it beats most. If all weights are 0, each is as likely.
    """
    if weighting not in WEIGHTS:
        raise ValueError(f"weighting={weighting!r}: must be one of {', '.join(WEIGHTS)}")

    def choose(field: Field, slot: int, rng: np.random.Generator) -> Player:
        rivals = field.rivals(slot)
        return weighted(rivals, priorities(field, slot, rivals, weighting), rng) if rivals else None

    return choose


def priorities(field: Field, slot: int, rivals: list[Player], weighting: Weighting) -> list[float]:
    """The weight of each of these rivals, at least one, for a member."""
    shares = np.array([field.expected(slot, rival) for rival in rivals], dtype=np.float64)
    weights: list[float] = WEIGHTS[weighting](np.clip(shares, 0.0, 1.0)).tolist()
    return weights
