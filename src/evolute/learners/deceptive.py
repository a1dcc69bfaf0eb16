"""The deceptive problem (after PBT-Zoo, Section 5.2): who lowers h at once gains now and pays for it ever after.

A member remembers the h of every turn along its line of descent and is fined for leaving the slow schedule
1, 0.98, 0.96, …; greedy methods lose to random search here.
"""

from __future__ import annotations

from typing import Any, TypedDict


class Deceptive(TypedDict):
    """The one hyper-parameter, in [1e-4, 1.1], first drawn from [0.9, 1.1]."""

    h: float


def deceptive(state: Any, hparams: Deceptive, steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """One turn of the problem, whatever `steps` says."""
    theta, past = (0.9, []) if state is None else (state["theta"], state["past"])
    past = [*past, hparams["h"]]
    penalty = 0.2 * sum(abs(h - (1000 - 20 * k) / 1000) for k, h in enumerate(past))
    rate = max(2 - past[-1] - penalty, 0.0)
    theta = theta * (1 - 0.002 * rate) ** 20
    score = 1.2 - theta**2
    return {"theta": theta, "past": past}, {"score": score, "true": score}
