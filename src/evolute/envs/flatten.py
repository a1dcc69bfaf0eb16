"""Observations as one array: any supported space becomes a vector or an image [height, width, channel]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium import spaces

from evolute.core.order import Json
from evolute.envs.spaces import Space


class FlatBox(spaces.Box):
    """What observations of a space that is not flat become; `layout` describes that space, for policies without Gymnasium."""

    def __init__(self, low: Any, high: Any, dtype: Any, layout: dict[str, Json]) -> None:
        super().__init__(low, high, dtype=dtype)
        self.layout = layout


def flat_space(space: Space) -> spaces.Box:
    """What observations of a space become: vectors and images stay, choices become one-hot, the rest one vector."""
    if is_flat(space):
        assert isinstance(space, spaces.Box)
        return spaces.Box(space.low, space.high, dtype=space.low.dtype.type)
    if isinstance(space, spaces.Box) and len(space.shape) == 3:
        low, high = (flatten(space, bound, np) for bound in (space.low, space.high))
        return FlatBox(low, high, low.dtype.type, layout(space))
    return FlatBox(*_bounds(space), np.float32, layout(space))


def layout(space: Space) -> dict[str, Json]:
    """A space in plain values, as far as it takes to flatten its observations; `policy.flattened` reads it."""
    match space:
        case spaces.Dict():
            return {"kind": "dict", "parts": [[name, layout(part)] for name, part in space.items()]}
        case spaces.Tuple():
            return {"kind": "tuple", "parts": [layout(part) for part in space]}
        case spaces.Discrete():
            return {"kind": "choices", "shape": [], "sizes": [int(space.n)], "starts": [int(space.start)]}
        case spaces.MultiDiscrete():
            sizes, starts = space.nvec.ravel().tolist(), space.start.ravel().tolist()
            return {"kind": "choices", "shape": list(space.shape), "sizes": sizes, "starts": starts}
    return {"kind": "numbers", "shape": [int(size) for size in space.shape or ()]}


def is_flat(space: Space) -> bool:
    """Whether observations of a space are already as a network reads them."""
    return isinstance(space, spaces.Box) and (
        len(space.shape) == 1 or (len(space.shape) == 3 and not _channel_first(space.shape))
    )


def flatten(space: Space, obs: Any, array: ModuleType, *, batch: int = 0) -> Any:
    """One observation, or with `batch` leading axes many, as `flat_space` says. `array` is numpy or jax.numpy."""
    if isinstance(space, spaces.Box) and len(space.shape) == 3:
        return array.moveaxis(obs, batch, -1) if _channel_first(space.shape) else obs
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        return obs
    return _vector(space, obs, array, batch)


def mismatch(space: Space, obs: Any, name: str = "obs") -> str | None:
    """What of an observation is not of its space: a part that is missing, or has more or fewer numbers."""
    match space:
        case spaces.Dict():
            if not isinstance(obs, Mapping):
                return f"{name} is a {type(obs).__name__}, and should be a dict"
            if missing := [repr(key) for key in space if key not in obs]:
                return f"{name} has no {', '.join(missing)}"
            parts = [(part, obs[key], f"{name}[{key!r}]") for key, part in space.items()]
        case spaces.Tuple():
            if not isinstance(obs, (tuple, list)) or len(obs) != len(space):
                return f"{name} should be a tuple of {len(space)}"
            parts = [(part, seen, f"{name}[{place}]") for place, (part, seen) in enumerate(zip(space, obs, strict=True))]
        case _:
            shape = space.shape or ()
            fits = np.size(obs) == math.prod(shape)
            return None if fits else f"{name} has the shape {np.shape(obs)}, and should have {shape}"
    return next(filter(None, (mismatch(*part) for part in parts)), None)


def _vector(space: Space, obs: Any, array: ModuleType, batch: int) -> Any:
    """An observation as one vector of float32."""
    match space:
        case spaces.Dict():
            parts = [_vector(part, obs[name], array, batch) for name, part in space.items()]
            return array.concatenate(parts, axis=-1)
        case spaces.Tuple():
            parts = [_vector(part, seen, array, batch) for part, seen in zip(space, obs, strict=True)]
            return array.concatenate(parts, axis=-1)
        case spaces.Discrete():
            return _one_hot(array.asarray(obs) - space.start, int(space.n), array)
        case spaces.MultiDiscrete():
            flat = _ravel(obs, array, batch) - space.start.ravel()
            return array.concatenate([_one_hot(flat[..., i], int(n), array) for i, n in enumerate(space.nvec.ravel())], axis=-1)
    return _ravel(obs, array, batch).astype(np.float32)


def _ravel(obs: Any, array: ModuleType, batch: int) -> Any:
    obs = array.asarray(obs)
    return obs.reshape((*obs.shape[:batch], math.prod(obs.shape[batch:])))


def _one_hot(choice: Any, count: int, array: ModuleType) -> Any:
    return (choice[..., None] == array.arange(count)).astype(np.float32)


def _bounds(space: Space) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    match space:
        case spaces.Dict() | spaces.Tuple():
            lows, highs = zip(*map(_bounds, space.values() if isinstance(space, spaces.Dict) else space), strict=True)
            return np.concatenate(lows), np.concatenate(highs)
        case spaces.Box():
            with np.errstate(over="ignore"):  # a bound beyond float32 is none
                return space.low.ravel().astype(np.float32), space.high.ravel().astype(np.float32)
    size = spaces.flatdim(space)
    return np.zeros(size, np.float32), np.ones(size, np.float32)


def _channel_first(shape: tuple[int, ...]) -> bool:
    """Whether an image is [channel, height, width]: there are fewer channels than rows or columns."""
    return shape[0] < min(shape[1], shape[2])
