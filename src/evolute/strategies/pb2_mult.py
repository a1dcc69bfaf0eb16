"""PB2-Mult (Parker-Holder et al. 2021, arXiv 2106.15883): bandits pick categories, each with a PB2 model of its own."""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.bayes.categories import by_bandits
from evolute.strategies.bayes.pb2_explore import Pb2Explore
from evolute.strategies.bayes.weighed import weighed
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation

ROUNDS = 100
"""How many decisions the bandits assume where the run's length is open."""


def pb2_mult(plan: Plan, *, quantile: float = 0.25, rows: int = 1000, burn_in: int = 0) -> Evolution:
    """PB2-Mult: the model learns from the turns with the category that the bandit has picked. The rest as in PB2."""
    pick = by_bandits(plan.turns or ROUNDS, plan.interval)
    explore = weighed(plan, Pb2Explore(plan.interval, rows, pick, "own"))
    return Evolution(plan, truncation(quantile), explore, burn_in=burn_in)
