"""What a learner makes of the ends of a space: how many shapes there are, and how large a state can be."""

from __future__ import annotations

import math
from typing import Any

from evolute.config.resolve import Config
from evolute.core.order import Hparams, Order
from evolute.core.param import corners
from evolute.core.protocols import Learner
from evolute.core.rng import stream
from evolute.core.tree import pack


def shapes_besides(learner: Learner[Any], config: Config) -> tuple[int, list[str]]:
    """In how many shapes members of one architecture may come, and by which settings."""
    example = {**config.learner.settings, **config.space.sample(stream(config.settings.seed, "examples"))}
    counts = {
        name: len({learner.shape({**example, name: value}) for value in corners(param)})
        for name, param in config.space.items()
        if name not in learner.architecture
    }
    names = [f"{config.learner.name}.{name}" for name, count in counts.items() if count > 1]
    return math.prod(counts.values()), names


def largest_state(learner: Learner[Any], config: Config, hparams: Hparams) -> int | None:
    """The bytes of the largest fresh state with any architecture of the space; None if that is not known yet.

    A state grows with each setting, whatever the others are, so they are looked at one after another.
    """
    size = _state_bytes(learner, hparams)
    if size is None:
        return None
    for name in (name for name in config.space if name in learner.architecture):
        for value in corners(config.space[name]):
            other = _state_bytes(learner, {**hparams, name: value})
            if other is not None and other > size:
                size, hparams = other, {**hparams, name: value}
    return size


def _state_bytes(learner: Learner[Any], hparams: Hparams) -> int | None:
    state = learner.dump(learner.init([Order(0, 0, hparams)])[0])
    return None if state is None else sum(map(len, pack(state)))
