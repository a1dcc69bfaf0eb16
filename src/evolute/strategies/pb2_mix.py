"""PB2-Mix (Parker-Holder et al. 2021, arXiv 2106.15883): bandits pick categories, one model over both proposes the numbers.

The numbers are chosen given the category that was picked, as in the paper; its public code takes the parent's.
"""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.bayes.categories import by_bandits
from evolute.strategies.bayes.pb2_explore import Pb2Explore
from evolute.strategies.bayes.weighed import weighed
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.pb2_mult import ROUNDS


def pb2_mix(plan: Plan, *, quantile: float = 0.25, resample: float = 1.0, rows: int = 1000, burn_in: int = 0) -> Evolution:
    """PB2-Mix: the model learns from all turns, with a kernel over numbers and categories. The rest as in PB2.

    `resample` is the probability that a bandit picks an heir's category; otherwise it keeps its parent's.
    """
    pick = by_bandits(plan.turns or ROUNDS, plan.interval, resample)
    explore = weighed(plan, Pb2Explore(plan.interval, rows, pick, "all"))
    return Evolution(plan, truncation(quantile), explore, burn_in=burn_in)
