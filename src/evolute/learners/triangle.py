"""The triangle problem: the best learning rate first rises, then falls, while progress is made; too high a rate undoes it."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

REPEATS = 5
NOISE = 3.0


class Triangle(TypedDict):
    """The one hyper-parameter, a learning rate in [1e-4, 2e-2] on a log scale."""

    h: float


def triangle(state: Any, hparams: Triangle, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One turn of five repeats, whatever `steps` says; the score is observed with noise, `true` is without."""
    rng = np.random.default_rng(seed)
    progress = 0.0 if state is None else state["progress"]
    for _ in range(REPEATS):
        progress = _repeat(progress, hparams["h"], rng)
    return {"progress": progress}, {"score": progress + rng.normal(0, NOISE), "true": progress}


def optimum(progress: float) -> float:
    """The best learning rate at this point."""
    rising = 0.01 * progress / 100 if progress < 100 else 0.01 - 0.01 * (progress - 100) / 100
    return min(max(rising, 0.001), 0.01)


def _repeat(progress: float, h: float, rng: np.random.Generator) -> float:
    wanted = optimum(progress)
    ratio = max(h, wanted) / min(h, wanted)
    if ratio < 3:
        progress += rng.uniform() / ratio
    elif h > wanted:
        progress -= (ratio - 3) * rng.uniform()
    return max(progress, 0.0)
