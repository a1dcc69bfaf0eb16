"""Winner takes all: after every turn all members but the best take over the best one's state and explore from there."""

from __future__ import annotations

from evolute.core.param import FACTORS
from evolute.core.protocols import Plan
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import winner
from evolute.strategies.explore import perturb


def winner_takes_all(plan: Plan, *, resample: float = 0.0, factors: tuple[float, ...] = FACTORS, burn_in: int = 0) -> Evolution:
    """`resample` is the probability of a fresh draw per hyper-parameter, `factors` are what a value is multiplied by."""
    return Evolution(plan, winner(), perturb(resample, factors), burn_in=burn_in)
