"""BG-PBT (Wan et al. 2022, arXiv 2207.09405): PBT inside a trust region, and generations of new architectures.

Many random members train one turn each, and the best of them become the population.
"""

from __future__ import annotations

from typing import Literal

from evolute.core.protocols import LinkError, Plan
from evolute.strategies.bayes.bg_pbt_explore import BgPbtExplore
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.generations import FEWEST, Generations, When, taught_turns
from evolute.strategies.rungs import Rungs

LONGEST = 0.27
"""The share of a run after which a generation is replaced, even if it still improves."""


def bg_pbt(
    plan: Plan,
    *,
    quantile: float = 0.125,
    candidates: int | tuple[int, ...] | None = None,
    rows: int = 100,
    width: float = 3.0,
    burn_in: int = 0,
    generations: int = 0,
    patience: int = 20,
    longest: int | None = None,
    taught: int | None = None,
    teacher: bool = True,
    architectures: int | None = None,
    architectures_by: Literal["model", "random"] = "model",
    backtrack: bool = False,
) -> Rungs | Generations:
    """BG-PBT; with `generations`, up to that many new populations are founded, with new architectures.

    `candidates` is how many random members start, by default three for each slot; their turns count in the run. Several
    numbers are rungs: with [24, 16] the best 16 of 24 train another turn, and the best of these are the population.
    The model learns from the newest `rows` turns; its upper bound is `width` standard deviations above its mean.

    A generation is founded after `patience` turns without a new best, or `longest` turns (27 % of the run). Its students are
    `taught` by the best member for that many turns (a fifth of the run), or by nobody if `teacher` is false. It tries so many
    `architectures` (as many as slots), half of them proposed by a model, or all at random. With `backtrack` heirs start from
    the generation's best state ever.
    """
    evolution = Evolution(plan, truncation(quantile), BgPbtExplore(plan.interval, rows, width), burn_in=burn_in)
    candidates = 3 * plan.size if candidates is None else candidates
    counts = (candidates,) if isinstance(candidates, int) else candidates
    start = Rungs(evolution, tuple((count, 1) for count in counts))
    if generations < 0:
        raise ValueError(f"generations={generations}: must be 0, for none, or more")
    if generations == 0:
        return start
    counted = {"patience": patience, "longest": longest, "architectures": architectures}
    for name, value in counted.items():
        if value is not None and value < 1:
            raise ValueError(f"{name}={value}: must be at least 1")
    if plan.turns is None:
        raise ValueError(f"generations={generations}: a run with generations needs an end; set stop.turns or stop.steps")
    if teacher and "teacher" not in plan.links:
        raise LinkError(f"generations={generations}: students have a teacher, or learn by themselves with teacher=false")
    taught = taught_turns(plan.turns) if taught is None else taught
    if taught < FEWEST:
        raise ValueError(f"taught={taught}: must be at least {FEWEST}, a turn on each rung")
    longest = max(1, round(LONGEST * plan.turns)) if longest is None else longest
    when = When(generations, patience, longest, taught)
    by_model = architectures_by == "model"
    return Generations(start, when, architectures or plan.size, by_model=by_model, teacher=teacher, backtrack=backtrack)
