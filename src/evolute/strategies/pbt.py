"""Population-based training (Jaderberg et al. 2017, arXiv 1711.09846): exploit, explore, train on."""

from __future__ import annotations

from typing import Literal

from evolute.core.param import FACTORS
from evolute.core.protocols import Plan
from evolute.strategies import explore as explores
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import Exploit, significant_truncation, tournament, truncation, welch


def pbt(
    plan: Plan,
    *,
    exploit: Literal["truncation", "significant", "tournament", "welch", "none"] = "truncation",
    explore: Literal["perturb", "gaussian", "resample", "pairwise", "none"] = "perturb",
    quantile: float = 0.25,
    resample: float = 0.25,
    factors: tuple[float, ...] = FACTORS,
    level: float = 0.05,
    evaluations: int = 10,
    burn_in: int = 0,
    every: int = 1,
) -> Evolution:
    """PBT with the paper's rules.

    `quantile` is truncation's share of heirs. `exploit=significant` is truncation that replaces a member only if it is
    worse by a test at `level` on the scores' standard errors; `level` and `evaluations` are Welch's too. `resample` is the
    probability of a fresh draw per hyper-parameter, `factors` are what a value is multiplied by; no member evolves before
    `burn_in` steps, and then only after every `every`-th of its turns.
    """
    rules: dict[str, Exploit] = {
        "truncation": truncation(quantile),
        "significant": significant_truncation(quantile, level),
        "tournament": tournament(),
        "welch": welch(level, evaluations),
        "none": lambda population, scores, ready, rng: {},
    }
    changes = {
        "perturb": explores.perturb(resample, factors),
        "gaussian": explores.gaussian(resample),
        "resample": explores.redraw(),
        "pairwise": explores.pairwise(resample),
        "none": explores.copy(),
    }
    return Evolution(plan, rules[exploit], changes[explore], burn_in=burn_in, rescue=exploit != "none", every=every)
