"""The ceilings problem: an architecture limits how much can be learnt, and wide networks learn slowly.

A member's skill rises towards the ceiling of its architecture, which is highest at one that `problem` draws, at a speed that
its width and its one hyper-parameter h decide. A teacher pulls it up to the teacher's own skill, if the ceiling lets it.
So a population is as good as the best architecture it drew, unless it founds new generations.
"""

from __future__ import annotations

import math
from typing import Any, TypedDict

import numpy as np

from evolute.core.solo import Teacher

WIDTHS = (16, 32, 64, 128, 256)
DEPTHS = (1, 2, 3, 4)
ACTIVATIONS = ("tanh", "relu", "swish")
NORMS = ("none", "layer")
NOISE = 0.02
PULL = 0.35
"""The share of the way to its teacher that a student goes in a turn in which the teacher counts fully."""


class Ceilings(TypedDict):
    """h in [0, 1], best at 0.5; four hyper-parameters that make an architecture; the number of the problem, which is fixed."""

    h: float
    width: int
    depth: int
    activation: str
    norm: str
    problem: int


def ceilings(
    state: Any, hparams: Ceilings, steps: int, seed: int, *, teacher: Teacher | None = None
) -> tuple[Any, dict[str, float]]:
    """One turn, whatever `steps` says; the score is observed with noise, `true` is without."""
    skill = 0.0 if state is None else state["skill"]
    top = ceiling(hparams)
    speed = 0.04 + 0.12 * (1 - WIDTHS.index(hparams["width"]) / (len(WIDTHS) - 1))
    skill += speed * math.exp(-((hparams["h"] - 0.5) ** 2) / 0.08) * (top - skill)
    if teacher is not None:
        skill += PULL * teacher.weight_at(0.5) * max(min(teacher.state["skill"], top) - skill, 0.0)
    noise = np.random.default_rng(seed).normal(0, NOISE)
    return {"skill": skill}, {"score": skill + noise, "true": skill}


ceilings.architecture = ("width", "depth", "activation", "norm")  # type: ignore[attr-defined]


def ceiling(hparams: Ceilings) -> float:
    """What a member with this architecture can learn: 1 at the best one, 0.4 far from it."""
    rng = np.random.default_rng(hparams["problem"])
    best = [int(rng.integers(len(values))) for values in (WIDTHS, DEPTHS, ACTIVATIONS, NORMS)]
    width, depth = WIDTHS.index(hparams["width"]), DEPTHS.index(hparams["depth"])
    square = ((width - best[0]) / (len(WIDTHS) - 1)) ** 2 + ((depth - best[1]) / (len(DEPTHS) - 1)) ** 2
    equal = (hparams["activation"] == ACTIVATIONS[best[2]]) + (hparams["norm"] == NORMS[best[3]])
    return 0.4 + 0.6 * math.exp(-square / 0.245) * (0.7 + 0.3 * equal / 2)
