"""Running mean and variance of observations and returns, in the parallel form of Chan et al. (1979)."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

LIMIT = 10.0
"""Normalised values are clipped to this many standard deviations."""
TINY = 1e-8


class Moments(NamedTuple):
    """What has been seen so far; `count` begins just above zero, so that the first batch decides."""

    mean: Any
    variance: Any
    count: Any


def fresh(shape: tuple[int, ...]) -> Moments:
    """The moments before anything was seen, on the host."""
    return Moments(np.zeros(shape, np.float32), np.ones(shape, np.float32), np.float32(1e-4))


def updated(moments: Moments, batch: jax.Array, valid: jax.Array) -> Moments:
    """The moments after those rows of a batch [row, …] that are valid [row]."""
    weight = valid.reshape((-1, *(1,) * (batch.ndim - 1)))
    number = jnp.sum(valid)
    mean = jnp.sum(batch * weight, axis=0) / jnp.maximum(number, 1)
    variance = jnp.sum(jnp.square(batch - mean) * weight, axis=0) / jnp.maximum(number, 1)
    total = moments.count + number
    delta = mean - moments.mean
    spread = moments.variance * moments.count + variance * number + delta**2 * moments.count * number / total
    return Moments(moments.mean + delta * number / total, spread / total, total)


def standardised(moments: Moments, x: jax.Array, on: jax.Array) -> jax.Array:
    """`x` in standard deviations from the mean where this is `on`, and as it is where it is not."""
    scaled = (x - moments.mean) * jax.lax.rsqrt(moments.variance + TINY)
    return jnp.where(on > 0, jnp.clip(scaled, -LIMIT, LIMIT), x)
