"""PB2-Rand (Parker-Holder et al. 2021, arXiv 2106.15883): PB2 for numbers, categories at random."""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.bayes.categories import at_random
from evolute.strategies.bayes.pb2_explore import Pb2Explore
from evolute.strategies.bayes.weighed import weighed
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation


def pb2_rand(plan: Plan, *, quantile: float = 0.25, resample: float = 0.5, rows: int = 1000, burn_in: int = 0) -> Evolution:
    """PB2-Rand: `resample` is the probability that a category is redrawn; the model sees only numbers. The rest as in PB2."""
    explore = weighed(plan, Pb2Explore(plan.interval, rows, at_random(resample), "none"))
    return Evolution(plan, truncation(quantile), explore, burn_in=burn_in)
