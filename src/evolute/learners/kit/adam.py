"""Adam (Kingma & Ba 2015) on a whole weight vector, with the gradient's global norm clipped."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

BETAS = (0.9, 0.999)


class AdamState(NamedTuple):
    """A member's weights and Adam's moments, each one vector, and how many steps Adam has made."""

    weights: Any
    mean: Any
    square: Any
    count: Any


def init(weights: np.ndarray[Any, Any]) -> AdamState:
    """The state before the first step, on the host."""
    return AdamState(weights, np.zeros_like(weights), np.zeros_like(weights), np.int32(0))


def rates(lr: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The learning rate and the factor of the root, both corrected for bias, in the steps after these counts."""
    steps = (counts + 1).astype(jnp.float32)
    return lr / (1 - BETAS[0] ** steps), jax.lax.rsqrt(1 - BETAS[1] ** steps)


def step(
    state: AdamState, gradient: jax.Array, rate: jax.Array, root: jax.Array, *, eps: jax.Array, max_norm: jax.Array
) -> AdamState:
    """The state after a step; `rate` and `root` are those of `rates` for it."""
    length = jnp.sqrt(jnp.sum(jnp.square(gradient)))
    gradient = gradient * jnp.minimum(1.0, max_norm / (length + 1e-6))
    mean = BETAS[0] * state.mean + (1 - BETAS[0]) * gradient
    square = BETAS[1] * state.square + (1 - BETAS[1]) * jnp.square(gradient)
    weights = state.weights - rate * mean / (jnp.sqrt(square) * root + eps)
    return AdamState(weights, mean, square, state.count + 1)
