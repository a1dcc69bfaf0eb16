"""Actor-critic networks in JAX: a policy and a value, each with a torso of its own or with one that they share.

Where policy and value are twins, dense networks of one shape, their layers lie side by side in the weight vector, so that
`twins` takes both through one product.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit import layers, spectral, torsos, weights
from evolute.learners.kit.torsos import ACTIVATIONS, Activation, Kind, Torso
from evolute.learners.kit.weights import Part, Weights

SHARED, ACTOR, CRITIC = "shared", "actor", "critic"
"""The names of torsos."""
POLICY, VALUE, MEMORY = "policy", "value", "memory"
"""The names of the heads, and of the recurrent layer before them."""


@dataclass(frozen=True)
class Network:
    """What a member's networks look like. `outputs` is the size of the policy's head, `spread` of its learnt log-std."""

    obs: tuple[int, ...]
    outputs: int
    spread: int = 0
    kind: Kind = "mlp"
    widths: tuple[int, ...] = (64, 64)
    activation: Activation = "tanh"
    memory: int = 0
    """Units of the recurrent layer, or 0 for a policy without memory."""
    shared: bool = False
    """Whether policy and value share all but their heads; those with memory do."""
    channels: int = 0
    """How many values there are, one for each channel of the reward, on a last axis [channel]; 0: a single one, without it."""
    critic: bool = True
    """Whether there is a value besides the policy."""

    spectral: bool = False
    """Whether the dense layers before the heads are divided by their largest singular values."""

    @property
    def torso(self) -> Torso:
        return Torso(self.obs, self.kind, self.widths, self.activation)

    @property
    def twin(self) -> bool:
        """Whether policy and value are two dense networks of one shape."""
        return self.kind == "mlp" and self.critic and not self.shared

    @property
    def values(self) -> int:
        """The size of the value's head."""
        return max(self.channels, 1)

    @property
    def units(self) -> int:
        """The width of the memory that is carried along, which is never empty."""
        return max(self.memory, 1)


def parts(network: Network) -> list[Part]:
    """All arrays of a network, in the order in which they lie in the weight vector."""
    width = network.widths[-1]
    names = (SHARED,) if network.shared else (ACTOR, CRITIC) if network.critic else (ACTOR,)
    each = [list(torsos.parts(network.torso, name)) for name in names]
    listed = [part for layer in zip(*each, strict=True) for part in layer]
    if network.memory:
        listed += weights.dense(f"{MEMORY}/in", width, 3 * network.memory, 1.0)
        listed += weights.dense(f"{MEMORY}/h", network.memory, 3 * network.memory, 1.0)
        width = network.memory
    listed += weights.dense(POLICY, width, network.outputs, 0.01)
    if network.critic:
        listed += weights.dense(VALUE, width, network.values, 1.0)
    return [*listed, Part("log_std", (network.spread,))] if network.spread else listed


def size(network: Network) -> int:
    """The length of the weight vector."""
    return weights.size(parts(network))


def initial(network: Network, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Fresh weights as one vector."""
    return weights.initial(parts(network), rng)


def unpacked(network: Network, vector: Any) -> dict[str, Any]:
    """The named arrays in a weight vector (numpy's or JAX's), as the network acts with them."""
    return effective(network, weights.unpacked(parts(network), vector))


def effective(network: Network, arrays: dict[str, Any]) -> dict[str, Any]:
    """Arrays to learn as the network uses them: with spectral normalisation, if it has that."""
    if not network.spectral:
        return arrays
    hidden = [name for name in arrays if name.rpartition("/")[0].rpartition("/")[2].startswith("dense") and name.endswith("/w")]
    return {**arrays, **{name: spectral.normalised(arrays[name]) for name in hidden}}


def starts(network: Network) -> dict[str, int]:
    """Where each array begins in the weight vector."""
    return weights.starts(parts(network))


def grouped(network: Network, vector: jax.Array) -> dict[str, jax.Array]:
    """The arrays to learn in a weight vector, in its order; those of twins are one array [twin, …] for each part."""
    arrays: dict[str, jax.Array] = {}
    start = 0
    for part in parts(network):
        name, shape = part.name, part.shape
        if network.twin and name.startswith(f"{CRITIC}/"):
            continue
        if network.twin and name.startswith(f"{ACTOR}/"):
            name, shape = name.replace(f"{ACTOR}/", "twins/"), (2, *shape)
        number = math.prod(shape)
        arrays[name] = vector[start : start + number].reshape(shape)
        start += number
    return arrays


def twins(network: Network, weights: Weights, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Outputs [output, batch] and values [(channel,) batch] of twins, from observations [feature, batch] and `grouped`
    weights."""
    act = ACTIVATIONS[network.activation]
    x = act(jnp.tensordot(weights["twins/dense0/w"], obs, axes=((1,), (0,))) + weights["twins/dense0/b"][..., None])
    for place in range(1, len(network.widths)):
        name = f"twins/dense{place}"
        x = act(layers.column_product(weights[f"{name}/w"], x) + weights[f"{name}/b"][..., None])
    width = network.widths[-1]
    policy, value = jnp.pad(weights["policy/w"], ((0, width), (0, 0))), jnp.pad(weights["value/w"], ((width, 0), (0, 0)))
    heads = jnp.concatenate([policy, value], axis=1)
    bias = jnp.concatenate([weights["policy/b"], weights["value/b"]])
    outputs = layers.column_product(heads[None], x.reshape((1, 2 * width, -1)))[0] + bias[:, None]
    return (outputs[: -network.channels], outputs[-network.channels :]) if network.channels else (outputs[:-1], outputs[-1])


def policy(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The policy's outputs [batch, output], and the memory after this observation [batch, unit]."""
    features, memory = _remembered(network, weights, _features(network, weights, ACTOR, obs), memory)
    return layers.affine(weights, POLICY, features), memory


def value(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> jax.Array:
    """The value of each observation [batch(, channel)]."""
    features, _ = _remembered(network, weights, _features(network, weights, CRITIC, obs), memory)
    return _value_head(network, weights, features)


def both(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The policy's outputs, the values, and the memory; what policy and value share is computed once."""
    if not network.shared:
        return policy(network, weights, obs, memory)[0], value(network, weights, obs, memory), memory
    features, memory = _remembered(network, weights, _features(network, weights, ACTOR, obs), memory)
    return layers.affine(weights, POLICY, features), _value_head(network, weights, features), memory


def along(
    network: Network, weights: Weights, obs: jax.Array, first: jax.Array, memory: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Outputs and values along whole rollouts [time, env, …]; the memory is cleared where an episode is at its `first` step."""
    features = _features(network, weights, ACTOR, obs)

    def step(memory: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        features, first = now
        _, memory = _remembered(network, weights, features, memory * (1 - first)[:, None])
        return memory, memory

    features = jax.lax.scan(step, memory, (features, first))[1]
    return layers.affine(weights, POLICY, features), _value_head(network, weights, features)


def with_channels(network: Network, vector: Any, channels: int) -> tuple[Network, Any]:
    """A network and its weights for another number of channels, whose values are all the first one's: it acts as before."""
    if network.channels == channels:
        return network, vector
    made = replace(network, channels=channels)
    arrays = weights.unpacked(parts(network), vector)
    arrays |= {name: np.repeat(arrays[name][..., :1], made.values, axis=-1) for name in (f"{VALUE}/w", f"{VALUE}/b")}
    return made, np.concatenate([array.ravel() for array in arrays.values()])


def _features(network: Network, weights: Weights, torso: str, obs: jax.Array) -> jax.Array:
    return torsos.features(network.torso, weights, SHARED if network.shared else torso, obs)


def _value_head(network: Network, weights: Weights, features: jax.Array) -> jax.Array:
    values = layers.affine(weights, VALUE, features)
    return values if network.channels else values[..., 0]


def _remembered(network: Network, weights: Weights, features: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One step of the recurrent layer; networks without memory pass their features on."""
    if not network.memory:
        return features, memory
    after = layers.gru(weights, MEMORY, features, memory)
    return after, after
