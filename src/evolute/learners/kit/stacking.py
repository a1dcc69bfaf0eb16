"""From members' states on the host to arrays with a member axis, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def stacked(rows: Sequence[Any], capacity: int) -> Any:
    """Pytrees of arrays as one with a leading member axis, filled up to a capacity by repeating the first."""
    filled = [*rows, *[rows[0]] * (capacity - len(rows))]
    return jax.tree.map(lambda *leaves: np.stack(leaves), *filled)


def unstacked(tree: Any, count: int) -> list[Any]:
    """The first rows of arrays [row, …], each a copy of its own that does not hold on to the others."""
    leaves, structure = jax.tree.flatten(tree)
    arrays = [np.asarray(leaf) for leaf in leaves]
    return [jax.tree.unflatten(structure, [np.array(array[row]) for array in arrays]) for row in range(count)]


def padded(rows: np.ndarray[Any, Any], capacity: int) -> np.ndarray[Any, Any]:
    """An array [row, …] filled up to a capacity with zeros."""
    missing = capacity - len(rows)
    return rows if missing == 0 else np.concatenate([rows, np.zeros((missing, *rows.shape[1:]), rows.dtype)])


def key_data(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The data of JAX's random key for a seed, made without JAX."""
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
