"""A learner for tests of the command line: says when it has begun, and can be held in a turn until it is released."""

from __future__ import annotations

import time
from pathlib import Path


def train(state, hparams, steps, seed):
    """With `hold`, no turn of this number ends before there is a file called `released`."""
    turn = 0 if state is None else state["turn"]
    Path(f"begun-{turn}").touch()
    while hparams.get("hold") == turn and not Path("released").exists():
        time.sleep(0.01)
    return {"turn": turn + 1}, {"score": turn + hparams["h"]}


def stubborn(state, hparams, steps, seed):
    """Does not let itself be interrupted."""
    try:
        return train(state, hparams, steps, seed)
    except KeyboardInterrupt:
        Path("refused").touch()
        time.sleep(1000)
        raise
