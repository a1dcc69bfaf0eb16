"""Spectral normalisation (Miyato et al. 2018): a matrix is divided by its largest singular value, so that a layer never
stretches a difference of its inputs."""

from __future__ import annotations

import jax
import jax.numpy as jnp

ITERATIONS = 5
TINY = 1e-12


@jax.jit
def normalised(matrix: jax.Array) -> jax.Array:
    """Matrices [..., in, out] over their largest singular values, which count as constants in a gradient.

    The values are found by power iteration from a fixed start: the same weights always give the same bits.
    """
    out = jnp.broadcast_to(jnp.cos(jnp.arange(1.0, matrix.shape[-1] + 1)), (*matrix.shape[:-2], matrix.shape[-1]))
    fixed = jax.lax.stop_gradient(matrix)
    length = jnp.zeros(matrix.shape[:-2])
    for _ in range(ITERATIONS):
        into = _unit(jnp.einsum("...io,...o->...i", fixed, out))[0]
        out, length = _unit(jnp.einsum("...io,...i->...o", fixed, into))
    return matrix / length[..., None, None]


def _unit(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A vector [..., entry] of length 1, and the length that it had."""
    length = jnp.sqrt(jnp.sum(jnp.square(vector), axis=-1)) + TINY
    return vector / length[..., None], length
