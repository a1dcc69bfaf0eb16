"""Spaces: in words, which of them a learner can use, and what they become when stacked or scaled."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import spaces

Space = spaces.Space[Any]

_READABLE = "a Box of 1 to 3 dimensions, Discrete, MultiDiscrete, MultiBinary, or a Dict or Tuple of these"
_DOABLE = "Discrete or MultiDiscrete from 0 on, or a one-dimensional Box of floats"


def describe(space: Space) -> str:
    """A space in words: `4 numbers (float32)`, `one of 3 choices`, `an image of 84x84x4 (uint8)`."""
    match space:
        case spaces.Box(shape=[height, width, channels]):
            return f"an image of {height}x{width}x{channels} ({space.dtype})"
        case spaces.Box():
            return f"{_shape(space.shape)} ({space.dtype})"
        case spaces.Discrete():
            return f"one of {space.n} choices"
        case spaces.MultiDiscrete():
            return f"one each of {', '.join(map(str, space.nvec.ravel()))} choices"
        case spaces.MultiBinary():
            return f"{math.prod(space.shape)} switches"
        case spaces.Dict():
            return f"a dict of {_joined(f'{name} ({describe(part)})' for name, part in space.items())}"
        case spaces.Tuple():
            return f"a tuple of {_joined(map(describe, space))}"
    return str(space)


def supported(observation_space: Space, action_space: Space) -> None:
    """Raise if a learner cannot read these observations or give these actions."""
    unread = _unreadable(observation_space)
    if unread is not None:
        raise ValueError(f"observations are {describe(unread)}: a learner reads {_READABLE}; wrap the environment to give one")
    if not _doable(action_space):
        raise ValueError(f"actions are {describe(action_space)}: a learner gives {_DOABLE}; wrap the environment to take one")


def stacked_space(space: Space, count: int) -> spaces.Box:
    """The space of `count` observations along the last axis."""
    assert isinstance(space, spaces.Box)
    low, high = (np.concatenate([bound] * count, axis=-1) for bound in (space.low, space.high))
    return spaces.Box(low, high, dtype=low.dtype.type)


def scaled_space(space: Space, scale: float) -> spaces.Box:
    """The space of observations times a constant."""
    assert isinstance(space, spaces.Box)
    if scale == 1.0:
        return space
    bounds = np.sort([space.low.astype(np.float32) * scale, space.high.astype(np.float32) * scale], axis=0)
    return spaces.Box(bounds[0], bounds[1], dtype=np.float32)


def _unreadable(space: Space) -> Space | None:
    """The first part of a space that cannot be read."""
    match space:
        case spaces.Dict():
            return next((part for part in map(_unreadable, space.values()) if part is not None), None)
        case spaces.Tuple():
            return next((part for part in map(_unreadable, space) if part is not None), None)
        case spaces.Box():
            return space if len(space.shape) > 3 else None
    return None if isinstance(space, spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary) else space


def _doable(space: Space) -> bool:
    match space:
        case spaces.Discrete():
            return bool(space.start == 0)
        case spaces.MultiDiscrete():
            return len(space.shape) == 1 and not np.any(space.start)
        case spaces.Box():
            return len(space.shape) == 1 and np.issubdtype(space.dtype, np.floating)
    return False


def _joined(parts: Iterable[str]) -> str:
    return " and ".join(parts)


def _shape(shape: tuple[int, ...]) -> str:
    return "a number" if shape in ((), (1,)) else f"{'x'.join(map(str, shape))} numbers"
