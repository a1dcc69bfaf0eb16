"""A learner whose scores rise for some turns, and then are noise."""

from __future__ import annotations

import numpy as np


def levelling(state, hparams, steps, seed):
    turns = (0 if state is None else state) + 1
    return turns, {"score": min(turns, 4) + 0.3 * hparams["h"] + float(np.random.default_rng(seed).normal(0, 0.3))}
