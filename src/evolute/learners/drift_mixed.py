"""The mixed drift problem: as `drift`, with four categories that each wander on their own and swap heights at half time."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

from evolute.learners.drift import NOISE, nearness, wander

HEIGHTS = (1.0, 0.75, 0.6, 0.45)
HALF = 20


class DriftMixed(TypedDict):
    """Two coordinates in [0, 1], a category of 0 to 3, and the number of the problem, which is fixed."""

    x0: float
    x1: float
    c: int
    problem: int


def drift_mixed(state: Any, hparams: DriftMixed, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One turn, whatever `steps` says; the score is observed with noise, `true` is without."""
    turn, total = (0, 0.0) if state is None else (state["turn"], state["total"])
    total += gains(hparams["problem"], [hparams["x0"], hparams["x1"]], turn)[hparams["c"]]
    noise = np.random.default_rng(seed).normal(0, NOISE)
    return {"turn": turn + 1, "total": total}, {"score": total + noise, "true": total}


def gains(problem: int, place: list[float], turn: int) -> list[float]:
    """What this turn is worth at `place` in each category."""
    rng = np.random.default_rng(problem)
    peaks = wander(rng, len(HEIGHTS), turn)
    heights = [rng.permutation(HEIGHTS), rng.permutation(HEIGHTS)]
    return [float(gain) for gain in heights[turn >= HALF] * nearness(np.array(place), peaks)]
