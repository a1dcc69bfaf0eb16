"""A learner for tests of the command line: slow enough to be interrupted, and it says when it has begun."""

from __future__ import annotations

import time
from pathlib import Path


def train(state, hparams, steps, seed):
    turn = 0 if state is None else state["turn"]
    Path("begun").touch()
    time.sleep(hparams.get("sleep", 0.1))
    return {"turn": turn + 1}, {"score": turn + hparams["h"]}


def stubborn(state, hparams, steps, seed):
    """Does not let itself be interrupted."""
    try:
        return train(state, hparams, steps, seed)
    except KeyboardInterrupt:
        Path("refused").touch()
        time.sleep(1000)
        raise
