"""BG-PBT's optimiser of hyper-parameters (Wan et al. 2022, arXiv 2207.09405): PBT inside a trust region.

Without its architecture search and generations. Many random members train one turn each, and the best of them become
the population.
"""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.bayes.bg_pbt_explore import BgPbtExplore
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.rungs import Rungs


def bg_pbt(
    plan: Plan,
    *,
    quantile: float = 0.125,
    candidates: int | tuple[int, ...] | None = None,
    rows: int = 100,
    width: float = 3.0,
    burn_in: int = 0,
) -> Rungs:
    """BG-PBT without architectures.

    `candidates` is how many random members start, by default three for each slot; their turns count in the run. Several
    numbers are rungs: with [24, 16] the best 16 of 24 train another turn, and the best of these are the population.
    The model learns from the newest `rows` turns; its upper bound is `width` standard deviations above its mean.
    """
    evolution = Evolution(plan, truncation(quantile), BgPbtExplore(plan.interval, rows, width), burn_in=burn_in)
    candidates = 3 * plan.size if candidates is None else candidates
    counts = (candidates,) if isinstance(candidates, int) else candidates
    return Rungs(evolution, tuple((count, 1) for count in counts))
