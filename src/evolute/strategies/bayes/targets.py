"""Gains as a Gaussian process sees them, and its predictions as gains again.

PB2 standardises and clips (arXiv 2002.02518, appendix B); BG-PBT replaces each gain by the normal quantile of its rank
(arXiv 2207.09405, section 3.1), which no outlier can stretch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evolute.strategies.bayes.points import Array

CLIP = 2.0
Back = Callable[[float], float]


@dataclass(frozen=True)
class Targets:
    """The transformed gains, and the way back from one of them to a gain."""

    values: Array
    back: Back

    def prediction(self, mean: float, deviation: float) -> dict[str, float]:
        """A prediction in the units of the score."""
        low, high = self.back(mean - deviation), self.back(mean + deviation)
        return {"gain": self.back(mean), "uncertainty": (high - low) / 2}


def standardised(gains: Array) -> Targets:
    """Zero mean, unit deviation, clipped to two deviations."""
    largest = float(np.abs(gains).max()) or 1.0  # squares of huge gains would overflow
    centre, spread = float(np.mean(gains / largest)), float(np.std(gains / largest))
    if spread < 1e-12:
        return Targets(np.zeros_like(gains), lambda target: centre * largest)
    values = np.clip((gains / largest - centre) / spread, -CLIP, CLIP)
    return Targets(values, lambda target: (centre + spread * target) * largest)


def by_rank(gains: Array) -> Targets:
    """The normal quantiles of the ranks; ties share theirs."""
    from scipy.special import ndtr, ndtri

    ordered = np.sort(gains)
    ranks = (np.searchsorted(ordered, gains, "left") + np.searchsorted(ordered, gains, "right")) / 2
    places = (np.arange(len(gains)) + 0.5) / len(gains)
    return Targets(np.asarray(ndtri(ranks / len(gains))), lambda target: float(np.interp(ndtr(target), places, ordered)))
