"""The drift problem: the best place in the unit square wanders, and a member's score is what it has gained on its way.

The path is drawn from the fixed setting `problem`, so all members of a run share it.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

SPEED = 0.02
WIDTH = 0.2
NOISE = 0.3
Places = np.ndarray[Any, np.dtype[np.float64]]


class Drift(TypedDict):
    """Two coordinates in [0, 1] and the number of the problem, which is fixed."""

    x0: float
    x1: float
    problem: int


def drift(state: Any, hparams: Drift, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One turn, whatever `steps` says; the score is observed with noise, `true` is without."""
    turn, total = (0, 0.0) if state is None else (state["turn"], state["total"])
    peaks = wander(np.random.default_rng(hparams["problem"]), 1, turn)
    total += float(nearness(np.array([hparams["x0"], hparams["x1"]]), peaks)[0])
    noise = np.random.default_rng(seed).normal(0, NOISE)
    return {"turn": turn + 1, "total": total}, {"score": total + noise, "true": total}


def wander(rng: np.random.Generator, count: int, turn: int) -> Places:
    """Where `count` best places are at this turn, on paths that `rng` draws, reflected at the walls: [path, coordinate]."""
    starts = rng.uniform(size=(count, 2))
    directions = rng.normal(size=(count, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    folded = np.mod(starts + SPEED * turn * directions, 2.0)
    return np.where(folded > 1, 2 - folded, folded)


def nearness(place: Places, peaks: Places) -> Places:
    """How close `place` is to each peak, 1 at the peak: [path]."""
    near: Places = np.exp(-np.sum((place - peaks) ** 2, axis=1) / (2 * WIDTH**2))
    return near
