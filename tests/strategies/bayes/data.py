"""Rows for tests of the Gaussian process."""

from __future__ import annotations

import numpy as np

from evolute.strategies.bayes.points import Points


def points(rows, numbers, categories=0, seed=0, times=10):
    """Random rows, with categories of three values and whole times."""
    rng = np.random.default_rng(seed)
    return Points(
        rng.uniform(size=(rows, numbers)),
        rng.integers(3, size=(rows, categories)),
        np.sort(rng.integers(times, size=rows)).astype(float),
    )


def smooth(points, seed=0, noise=0.1):
    """Gains that depend on numbers and categories and are observed with noise."""
    rng = np.random.default_rng(seed)
    gain = np.sin(4 * points.numbers[:, 0]) + points.numbers.sum(axis=1) + points.categories.sum(axis=1)
    gain = gain + rng.normal(0, noise, len(points))
    return (gain - gain.mean()) / gain.std()
