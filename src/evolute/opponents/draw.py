"""Draws of one player among several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evolute.core.order import Player

NOTHING = 1e-12
"""Weights that add up to less than this say nothing."""


def drawn(players: Sequence[Player], rng: np.random.Generator) -> Player:
    """One of the players, each as likely; None, the member itself, if there are none."""
    return players[int(rng.integers(len(players)))] if players else None


def weighted(players: Sequence[Player], weights: Sequence[float], rng: np.random.Generator) -> Player:
    """One of the players, in proportion to their weights; each as likely if all weights are about 0."""
    total = float(np.sum(weights))
    if total < NOTHING:
        return drawn(players, rng)
    return players[int(rng.choice(len(players), p=np.asarray(weights) / total))]
