"""Elo's update (1978): after each game both players move by as much as the result differs from what was expected."""

from __future__ import annotations

import numpy as np

from evolute.ratings.games import Games
from evolute.ratings.scale import Floats, win_probability

K = 4.0
MOST = 100.0


def step(difference: float, score: float, games: float, *, k: float = K, most: float = MOST) -> float:
    """What a player gains, and the other loses, by games with this mean score at this difference of ratings.

    All games count at once, so the step is at most `most` points: many of them would carry both too far.
    """
    return float(np.clip(k * games * (score - win_probability(difference)), -most, most))


def updated(ratings: Floats, games: Games, *, k: float = K, most: float = MOST) -> Floats:
    """The ratings [player] after all rows of games, one after another. All players of a side move by the same step."""
    ratings = np.array(ratings, dtype=np.float64)
    for players, weights, wins, count in zip(games.players, games.weights, games.wins, games.count, strict=True):
        if count > 0:
            moved = step(float(weights @ ratings[players]), wins / count, count, k=k, most=most)
            np.add.at(ratings, players, np.sign(weights) * moved)
    return ratings
