"""The Elo scale: 400 points of difference are odds of ten to one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
PER_POINT = math.log(10) / 400
"""What one rating point adds to the log-odds."""


def win_probability(difference: Any) -> Any:
    """The probability of a win for a player rated this much above the other; a number or an array."""
    return 0.5 * (1 + np.tanh(0.5 * PER_POINT * np.asarray(difference, dtype=np.float64)))[()]


def rating_difference(probability: float) -> float:
    """The rating difference at which a player wins with this probability."""
    if not 0 < probability < 1:
        raise ValueError(f"probability={probability}: must lie between 0 and 1, as no rating makes a win certain")
    return math.log(probability / (1 - probability)) / PER_POINT


def chance_below(difference: float, deviation: float, threshold: float) -> float:
    """The probability that the win probability lies below `threshold`, the difference being normal with this deviation."""
    gap = rating_difference(threshold) - difference
    if deviation == 0:
        return 1.0 if gap > 0 else 0.0
    return 0.5 * math.erfc(-gap / (deviation * math.sqrt(2)))


def chance_of_best(means: Sequence[float], deviations: Sequence[float]) -> float:
    """The probability that the first rating is the highest, all of them being normal and independent."""
    from scipy.special import ndtr

    spread = 8 * max(deviations[0], 1e-9)
    points = np.linspace(means[0] - spread, means[0] + spread, 4001)
    density = np.exp(-0.5 * ((points - means[0]) * 8 / spread) ** 2)
    others = zip(means[1:], np.maximum(deviations[1:], 1e-9), strict=True)
    below = np.prod([ndtr((points - mean) / deviation) for mean, deviation in others], axis=0)
    return float((density * below).sum() / density.sum())
