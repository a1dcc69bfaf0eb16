"""A network's weights as one vector: Adam, inheritance and a checkpoint deal with one array.

A network is a list of named parts, in the order in which they lie in the vector. Initialisation is orthogonal (as PPO's
reference implementations have it) and runs on the host.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from evolute.threads import single_blas_thread

Weights = Mapping[str, jax.Array]
"""Arrays by name, as `unpacked` gives them."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Part:
    """One named array of the weights: its shape, and the gain of its orthogonal initialisation (0 for zeros)."""

    name: str
    shape: tuple[int, ...]
    gain: float = 0.0

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def dense(name: str, inputs: int, outputs: int, gain: float) -> list[Part]:
    """The matrix and the biases of a dense layer."""
    return [Part(f"{name}/w", (inputs, outputs), gain), Part(f"{name}/b", (outputs,))]


def size(parts: Sequence[Part]) -> int:
    """The length of the weight vector."""
    return sum(part.size for part in parts)


def starts(parts: Sequence[Part]) -> dict[str, int]:
    """Where each array begins in the weight vector."""
    places, start = {}, 0
    for part in parts:
        places[part.name] = start
        start += part.size
    return places


def unpacked(parts: Sequence[Part], vector: Any) -> dict[str, Any]:
    """The named arrays in a weight vector (numpy's or JAX's)."""
    first = starts(parts)
    return {part.name: vector[first[part.name] : first[part.name] + part.size].reshape(part.shape) for part in parts}


def initial(parts: Sequence[Part], rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Fresh weights as one vector."""
    with single_blas_thread():
        return np.concatenate([_orthogonal(part, rng).ravel() for part in parts]).astype(np.float32)


def _orthogonal(part: Part, rng: np.random.Generator) -> Array:
    if part.gain == 0:
        return np.zeros(part.shape)
    rows, columns = math.prod(part.shape[:-1]), part.shape[-1]
    q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))
    array: Array = part.gain * (q if rows >= columns else q.T).reshape(part.shape)
    return array
