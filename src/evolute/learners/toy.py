"""The two-parameter problem of the PBT paper (arXiv 1711.09846, Figure 2).

The truth Q = 1.2 - theta0^2 - theta1^2 is what counts, the surrogate 1.2 - h0 theta0^2 - h1 theta1^2 is what gradient
ascent sees. A member with h = (1, 0) or (0, 1) alone can only bring one of the two parameters down.
"""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np

RATE = 0.02


class Toy(TypedDict):
    """The hyper-parameters: how much of each parameter the surrogate sees."""

    h0: float
    h1: float


def toy(state: Any, hparams: Toy, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """`steps` steps of gradient ascent on the surrogate."""
    theta = np.array([0.9, 0.9]) if state is None else state["theta"]
    h = np.array([hparams["h0"], hparams["h1"]])
    for _ in range(steps):
        theta = theta - 2 * RATE * h * theta
    one, other = theta.tolist()
    return {"theta": theta}, {"score": 1.2 - one**2 - other**2, "theta0": one, "theta1": other}
