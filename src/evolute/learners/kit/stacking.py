"""From members' states on the host to arrays with a member axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


def stacked(rows: Sequence[Any]) -> Any:
    """Pytrees of arrays as one with a leading axis, [row, …]."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *rows)


def key_data(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """The data of JAX's random key for a seed, made without JAX."""
    return np.array([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
