"""The layers that networks are made of, with gradients that are fast on CPUs. Each finds its arrays in the weights by name."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp

from evolute.learners.kit.weights import Weights

NARROW = 16


def affine(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    """A dense layer [batch, in] -> [batch, out], before its activation."""
    return product(x, weights[f"{name}/w"]) + weights[f"{name}/b"]


def convolve(weights: Weights, name: str, x: jax.Array, stride: int, padding: int) -> jax.Array:
    """A convolution of images [batch, height, width, channel], as one matrix product over patches.

    In a compiled loop on CPUs, the gradient of XLA's own convolution is many times slower.
    """
    kernel = weights[f"{name}/w"]
    side = kernel.shape[0]
    patches = jnp.concatenate(_shifted(jnp.pad(x, ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0))), side, stride), axis=-1)
    return product(patches, kernel.reshape((-1, kernel.shape[-1]))) + weights[f"{name}/b"]


def max_pool(x: jax.Array) -> jax.Array:
    """The largest of each 3 x 3 window at every second place, padded so that half the size, rounded up, is left."""
    pads = tuple(max((-(-size // 2) - 1) * 2 + 3 - size, 0) for size in x.shape[1:3])
    low = tuple(pad // 2 for pad in pads)
    high = tuple(pad - pad // 2 for pad in pads)
    x = jnp.pad(x, ((0, 0), (low[0], high[0]), (low[1], high[1]), (0, 0)), constant_values=-jnp.inf)
    return functools.reduce(jnp.maximum, _shifted(x, 3, 2))


def gru(weights: Weights, name: str, features: jax.Array, memory: jax.Array) -> jax.Array:
    """The memory after one step of a gated recurrent unit (Cho et al. 2014)."""
    reset, update, new = jnp.split(affine(weights, f"{name}/in", features), 3, axis=-1)
    reset_h, update_h, new_h = jnp.split(affine(weights, f"{name}/h", memory), 3, axis=-1)
    gate = jax.nn.sigmoid(update + update_h)
    candidate = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
    return gate * memory + (1 - gate) * candidate


def _shifted(x: jax.Array, side: int, stride: int) -> list[jax.Array]:
    """The images as each place of a square window sees them, row by row: side * side arrays."""
    height, width = ((size - side) // stride + 1 for size in x.shape[1:3])
    return [
        x[:, row : row + stride * (height - 1) + 1 : stride, column : column + stride * (width - 1) + 1 : stride]
        for row in range(side)
        for column in range(side)
    ]


@jax.custom_vjp
def product(x: jax.Array, w: jax.Array) -> jax.Array:
    """`x @ w`, with a gradient for narrow `w` that is several times faster on CPUs than the one JAX would take."""
    return x @ w


def _product_forward(x: jax.Array, w: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return x @ w, (x, w)


def _product_backward(kept: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, w = kept
    rows, gradients = x.reshape((-1, x.shape[-1])), gradient.reshape((-1, gradient.shape[-1]))
    return gradient @ w.T, (gradients.T @ rows).T if w.shape[1] < NARROW else rows.T @ gradients


product.defvjp(_product_forward, _product_backward)


@jax.custom_vjp
def column_product(w: jax.Array, x: jax.Array) -> jax.Array:
    """Layers [twin, in, out] of columns [twin, in, row], as [twin, out, row].

    On CPUs a product is faster if its first factor lies as it is read, here and in the gradient: that is worth a copy.
    """
    upright: jax.Array = jax.lax.optimization_barrier(jnp.swapaxes(w, 1, 2))
    return upright @ x


def _column_forward(w: jax.Array, x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return column_product(w, x), (w, x)


def _column_backward(kept: tuple[jax.Array, jax.Array], gradient: jax.Array) -> tuple[jax.Array, jax.Array]:
    w, x = kept
    if w.shape[2] < NARROW:
        return jnp.swapaxes(jnp.einsum("tob,tib->toi", gradient, x), 1, 2), w @ gradient
    return jnp.einsum("tib,tob->tio", x, gradient), w @ gradient


column_product.defvjp(_column_forward, _column_backward)
