"""Has a series of best scores stopped rising? Noise is smoothed away first, by a Gaussian process (IPBT, arXiv 2511.09190).

The process has a Matérn-5/2 kernel; its length scale and noise are the likeliest of a few, so the answer needs no random start.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np

from evolute.threads import single_blas_thread

Array = np.ndarray[Any, np.dtype[np.float64]]
LENGTHS = (2.0, 4.0, 8.0, 16.0)
"""Length scales to choose from, in periods."""
NOISES = (0.01, 0.1, 0.3, 1.0)
"""Variances of the noise to choose from, where the series has variance 1."""
FLAT = 0.02
"""A smaller rise, as a share of the series' standard deviation, is none: smoothing leaves ripples of that size."""
NEWEST = 60
"""Periods that are looked at: what was long ago says nothing about now."""


def has_stopped(scores: Sequence[float], *, patience: int, window: int) -> bool:
    """Whether the smoothed scores have not risen `patience` times in a row, or in `window` periods by less than their noise."""
    if len(scores) <= patience:
        return False
    newest = np.array(scores[-NEWEST:], dtype=np.float64)
    if not np.ptp(newest):
        return True
    smooth = smoothed(newest)
    if all(later - earlier <= FLAT * newest.std() for earlier, later in pairwise(smooth[-patience - 1 :])):
        return True
    noise = float(np.std(newest - smooth))
    return len(smooth) > window and bool(smooth[-1] - smooth[-window - 1] < noise)


@single_blas_thread()
def smoothed(scores: Array) -> Array:
    """The scores without their noise: [period]."""
    mean, spread = float(scores.mean()), float(scores.std())
    centred = (scores - mean) / spread
    places = np.arange(len(scores), dtype=np.float64)
    found = [_fitted(centred, places, length, noise) for length, noise in product(LENGTHS, NOISES)]
    _, best = max(found, key=lambda one: one[0])
    return np.asarray(mean + spread * best)


def _fitted(scores: Array, places: Array, length: float, noise: float) -> tuple[float, Array]:
    """The logarithm of the likelihood, up to a constant, and the posterior mean."""
    gaps = np.sqrt(5.0) * np.abs(places[:, None] - places[None, :]) / length
    kernel = (1 + gaps + gaps**2 / 3) * np.exp(-gaps)
    factor = np.linalg.cholesky(kernel + noise * np.eye(len(places)))
    weights = np.linalg.solve(factor.T, np.linalg.solve(factor, scores))
    return float(-0.5 * scores @ weights - np.log(np.diag(factor)).sum()), kernel @ weights
