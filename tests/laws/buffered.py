"""A learner with a replay buffer: each turn appends rows, and full pieces of them become segments."""

from __future__ import annotations

import numpy as np

from evolute.core.segment import Segment

PIECE = 64
CAPACITY = 5


def train(state, hparams, steps, seed):
    """The score is the mean of what the newest pieces hold, so a row that was lost or altered shows."""
    rng = np.random.default_rng(seed)
    pieces, tail = ((), np.zeros(0)) if state is None else (state["pieces"], state["tail"])
    tail = np.concatenate([tail, rng.normal(hparams["h"], 1, 100)])
    while len(tail) >= PIECE:
        pieces, tail = (*pieces, Segment.of(tail[:PIECE].copy())), tail[PIECE:]
    pieces = pieces[-CAPACITY:]
    return {"pieces": pieces, "tail": tail}, {"score": float(np.mean([piece.array.mean() for piece in pieces]))}
