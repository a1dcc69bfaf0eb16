"""The tradeoff problem: two skills that cost each other, so that what is best is a front and no point.

A member works on both, with share `w` on the first; what it does not work on it forgets. How fast it learns depends on `s`, and
is best at 0.5. No single `w` is best: the members that are good at one skill, at the other, or at both are all of use.
"""

from __future__ import annotations

from math import exp
from typing import Any, TypedDict

import numpy as np

SPEED, WIDTH = 0.25, 0.045
FORGOTTEN = 0.3
NOISE = 0.01


class Tradeoff(TypedDict):
    """Both in [0, 1]: the share of work on the first skill, and a setting of how to learn."""

    w: float
    s: float


def tradeoff(state: Any, hparams: Tradeoff, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One turn, whatever `steps` says; both skills are observed with noise, and the score is their sum."""
    skills = np.zeros(2) if state is None else state["skills"]
    work = np.array([hparams["w"], 1 - hparams["w"]])
    speed = SPEED * exp(-((hparams["s"] - 0.5) ** 2) / WIDTH)
    skills = skills + speed * (work * (1 - skills) - FORGOTTEN * (1 - work) * skills)
    seen = skills + np.random.default_rng(seed).normal(0, NOISE, size=2)
    metrics = {"a": seen[0], "b": seen[1], "true_a": skills[0], "true_b": skills[1], "score": seen.sum()}
    return {"skills": skills}, {name: float(value) for name, value in metrics.items()}
