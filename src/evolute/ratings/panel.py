"""Ratings by gain, for games in which nobody needs to lose for another to win: the mean return against a panel.

The panel are the same few opponents for all, so that returns can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

SIZE = 8
"""How many of the newest states in the pool are the panel."""
Gain = tuple[float, float, int]
"""The mean return against one opponent, the standard deviation of returns, and the number of games."""


def rating(gains: Sequence[Gain]) -> tuple[float, float]:
    """The mean of the returns against all opponents, each counting the same, and its standard error."""
    means, spreads, games = (np.array(column, np.float64) for column in zip(*gains, strict=True))
    return float(means.mean()), float(np.sqrt(np.sum(spreads**2 / games)) / len(means))
