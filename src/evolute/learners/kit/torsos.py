"""Torsos: what turns observations into features, before any head. Dense, convolutional or residual (IMPALA)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import jax
import jax.numpy as jnp

from evolute.learners.kit import layers, weights
from evolute.learners.kit.weights import Part, Weights

Kind = Literal["mlp", "cnn", "impala"]
Activation = Literal["tanh", "relu", "elu", "gelu", "silu"]
ACTIVATIONS: Mapping[str, Callable[[jax.Array], jax.Array]] = {
    "tanh": jnp.tanh,
    "relu": jax.nn.relu,
    "elu": jax.nn.elu,
    "gelu": jax.nn.gelu,
    "silu": jax.nn.silu,
}
CNN = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
SMALL_CNN = ((16, 3, 1),)
"""Channels, kernel and stride of each convolution: the Atari network (Mnih et al. 2015), and MinAtar's for small images."""
SMALL = 36
"""Images with a side below this get the small convolutions."""
IMPALA = (16, 32, 32)
"""Channels of each residual block of the IMPALA network (Espeholt et al. 2018)."""


@dataclass(frozen=True)
class Torso:
    """Dense layers of these widths, on observations of this shape; for images behind convolutions."""

    obs: tuple[int, ...]
    kind: Kind
    widths: tuple[int, ...]
    activation: Activation


def parts(torso: Torso, name: str) -> Iterator[Part]:
    """The arrays of a torso; their names begin with its own."""
    gain = math.sqrt(2)
    if torso.kind == "mlp":
        width = torso.obs[0]
    elif torso.kind == "cnn":
        height, across, channels = torso.obs
        for place, (out, kernel, stride) in enumerate(_convolutions(torso)):
            yield Part(f"{name}/conv{place}/w", (kernel, kernel, channels, out), gain)
            yield Part(f"{name}/conv{place}/b", (out,))
            height, across, channels = (height - kernel) // stride + 1, (across - kernel) // stride + 1, out
        width = height * across * channels
    else:
        height, across, channels = torso.obs
        for place, out in enumerate(IMPALA):
            for step, before in (("conv", channels), ("a0", out), ("a1", out), ("b0", out), ("b1", out)):
                yield Part(f"{name}/block{place}/{step}/w", (3, 3, before, out), gain)
                yield Part(f"{name}/block{place}/{step}/b", (out,))
            height, across, channels = -(-height // 2), -(-across // 2), out
        width = height * across * channels
    for place, out in enumerate(torso.widths):
        yield from weights.dense(f"{name}/dense{place}", width, out, gain)
        width = out


def features(torso: Torso, weights: Weights, name: str, obs: jax.Array) -> jax.Array:
    """The features [batch, unit] of observations [batch, …]."""
    x = obs if torso.kind == "mlp" else _image(torso, weights, name, obs)
    for place in range(len(torso.widths)):
        x = ACTIVATIONS[torso.activation](layers.affine(weights, f"{name}/dense{place}", x))
    return x


def strides(torso: Torso) -> list[int]:
    """Of a convolutional torso, the stride of each layer."""
    return [stride for _, _, stride in _convolutions(torso)] if torso.kind == "cnn" else []


def _convolutions(torso: Torso) -> tuple[tuple[int, int, int], ...]:
    return SMALL_CNN if min(torso.obs[:2]) < SMALL else CNN


def _image(torso: Torso, weights: Weights, name: str, obs: jax.Array) -> jax.Array:
    """The convolutional part, on images [batch, height, width, channel]; bytes become 0 to 1."""
    x = obs.astype(jnp.float32) / 255 if obs.dtype == jnp.uint8 else obs
    lead = x.shape[:-3]
    x = x.reshape((-1, *x.shape[-3:]))
    if torso.kind == "cnn":
        for place, (_, _, stride) in enumerate(_convolutions(torso)):
            x = jax.nn.relu(layers.convolve(weights, f"{name}/conv{place}", x, stride, 0))
        return x.reshape((*lead, -1))
    for place in range(len(IMPALA)):
        block = f"{name}/block{place}"
        x = layers.convolve(weights, f"{block}/conv", x, 1, 1)
        x = layers.max_pool(x)
        for half in "ab":
            inner = layers.convolve(weights, f"{block}/{half}0", jax.nn.relu(x), 1, 1)
            x = x + layers.convolve(weights, f"{block}/{half}1", jax.nn.relu(inner), 1, 1)
    return jax.nn.relu(x).reshape((*lead, -1))
