"""Population-based bandits (Parker-Holder et al. 2020, arXiv 2002.02518): PBT that explores by a model of what improved whom.

Numbers only: real, whole and ordinal ones. Time counts turns, so that old rows fade; the kernel has noise, and
the upper bound is mean + sqrt(beta) · standard deviation, as in the paper and unlike its public code.
"""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.bayes.categories import at_random
from evolute.strategies.bayes.pb2_explore import Pb2Explore
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.weighed import weighed
from evolute.strategies.evolution import Evolution, movable
from evolute.strategies.exploit import truncation


def pb2(plan: Plan, *, quantile: float = 0.25, rows: int = 1000, burn_in: int = 0) -> Evolution:
    """PB2. `quantile` is the share of heirs; the model learns from the newest `rows` turns."""
    if categories := Layout(movable(plan)).categories:
        raise ValueError(
            f"{', '.join(categories)}: PB2 cannot use categories; pb2_mix, pb2_mult, pb2_rand and bg_pbt can, and "
            "values in an order can be written as ordinal[…]"
        )
    explore = Pb2Explore(plan.interval, rows, at_random(0.0), "none")
    return Evolution(plan, truncation(quantile), weighed(plan, explore), burn_in=burn_in)
