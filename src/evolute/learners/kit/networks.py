"""Policy and value networks as plain functions of one flat weight vector.

A member's weights are one vector, so that the optimiser, inheritance and a checkpoint deal with one array; `unpacked` gives
the named matrices back as views. Where policy and value are twins, dense networks of one shape, their layers lie side by side,
so that `twins` takes both through one product. Initialisation is orthogonal (as PPO's reference implementations have it) and
runs on the host.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

Kind = Literal["mlp", "cnn", "impala"]
Activation = Literal["tanh", "relu", "elu", "gelu", "silu"]
Weights = Mapping[str, jax.Array]
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
NARROW = 16
IMPALA = (16, 32, 32)
"""Channels of each residual block of the IMPALA network (Espeholt et al. 2018)."""


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

    @property
    def twin(self) -> bool:
        """Whether policy and value are two dense networks of one shape."""
        return self.kind == "mlp" and not self.shared

    @property
    def units(self) -> int:
        """The width of the memory that is carried along, which is never empty."""
        return max(self.memory, 1)


@dataclass(frozen=True)
class Part:
    """One named array of the weights: its shape, and the gain of its orthogonal initialisation (0 for zeros)."""

    name: str
    shape: tuple[int, ...]
    gain: float = 0.0

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def parts(network: Network) -> list[Part]:
    """All arrays of a network, in the order in which they lie in the weight vector."""
    found: list[Part] = []
    width = network.widths[-1]
    torsos = [list(_torso(network, name)) for name in (("shared",) if network.shared else ("actor", "critic"))]
    found += [part for layer in zip(*torsos, strict=True) for part in layer]
    if network.memory:
        found += [
            *_dense("memory/in", width, 3 * network.memory, 1.0),
            *_dense("memory/h", network.memory, 3 * network.memory, 1.0),
        ]
        width = network.memory
    found += [*_dense("policy", width, network.outputs, 0.01), *_dense("value", width, 1, 1.0)]
    return [*found, Part("log_std", (network.spread,))] if network.spread else found


def size(network: Network) -> int:
    """How many numbers the weights are."""
    return sum(part.size for part in parts(network))


def initial(network: Network, rng: np.random.Generator) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Fresh weights as one vector."""
    return np.concatenate([_orthogonal(part, rng).ravel() for part in parts(network)]).astype(np.float32)


def unpacked(network: Network, weights: Any) -> dict[str, Any]:
    """The named arrays in a weight vector (numpy's or JAX's)."""
    first = starts(network)
    return {part.name: weights[first[part.name] : first[part.name] + part.size].reshape(part.shape) for part in parts(network)}


def starts(network: Network) -> dict[str, int]:
    """Where each array begins in the weight vector."""
    found, start = {}, 0
    for part in parts(network):
        found[part.name] = start
        start += part.size
    return found


def grouped(network: Network, weights: jax.Array) -> dict[str, jax.Array]:
    """The arrays to learn in a weight vector, in its order; those of twins are one array [twin, …] for each part."""
    found: dict[str, jax.Array] = {}
    start = 0
    for part in parts(network):
        name, shape = part.name, part.shape
        if network.twin and name.startswith("critic/"):
            continue
        if network.twin and name.startswith("actor/"):
            name, shape = name.replace("actor/", "twins/"), (2, *shape)
        number = math.prod(shape)
        found[name] = weights[start : start + number].reshape(shape)
        start += number
    return found


def twins(network: Network, weights: Weights, obs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Outputs [output, batch] and values [batch] of twins, from observations [feature, batch] and `grouped` weights."""
    act = ACTIVATIONS[network.activation]
    x = act(jnp.tensordot(weights["twins/dense0/w"], obs, axes=((1,), (0,))) + weights["twins/dense0/b"][..., None])
    for place in range(1, len(network.widths)):
        name = f"twins/dense{place}"
        x = act(_turned(weights[f"{name}/w"], x) + weights[f"{name}/b"][..., None])
    width = network.widths[-1]
    policy, value = jnp.pad(weights["policy/w"], ((0, width), (0, 0))), jnp.pad(weights["value/w"], ((width, 0), (0, 0)))
    heads = jnp.concatenate([policy, value], axis=1)
    bias = jnp.concatenate([weights["policy/b"], weights["value/b"]])
    both = _turned(heads[None], x.reshape((1, 2 * width, -1)))[0] + bias[:, None]
    return both[:-1], both[-1]


def strides(network: Network) -> list[int]:
    """Of a convolutional network, the stride of each layer."""
    return [stride for _, _, stride in _convolutions(network)] if network.kind == "cnn" else []


def policy(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The policy's outputs [batch, output], and the memory after this observation [batch, unit]."""
    features, memory = _remembered(network, weights, _features(network, weights, "actor", obs), memory)
    return _affine(weights, "policy", features), memory


def value(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> jax.Array:
    """The value of each observation [batch]."""
    features, _ = _remembered(network, weights, _features(network, weights, "critic", obs), memory)
    return _affine(weights, "value", features)[..., 0]


def both(network: Network, weights: Weights, obs: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The policy's outputs, the values, and the memory; what policy and value share is computed once."""
    if not network.shared:
        return policy(network, weights, obs, memory)[0], value(network, weights, obs, memory), memory
    features, memory = _remembered(network, weights, _features(network, weights, "actor", obs), memory)
    return _affine(weights, "policy", features), _affine(weights, "value", features)[..., 0], memory


def along(
    network: Network, weights: Weights, obs: jax.Array, first: jax.Array, memory: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Outputs and values along whole rollouts [time, env, …]; the memory is cleared where an episode is at its `first` step."""
    features = _features(network, weights, "actor", obs)

    def step(memory: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        features, first = now
        _, memory = _remembered(network, weights, features, memory * (1 - first)[:, None])
        return memory, memory

    features = jax.lax.scan(step, memory, (features, first))[1]
    return _affine(weights, "policy", features), _affine(weights, "value", features)[..., 0]


def _torso(network: Network, name: str) -> Iterator[Part]:
    gain = math.sqrt(2)
    if network.kind == "mlp":
        width = network.obs[0]
    elif network.kind == "cnn":
        height, across, channels = network.obs
        for place, (out, kernel, stride) in enumerate(_convolutions(network)):
            yield Part(f"{name}/conv{place}/w", (kernel, kernel, channels, out), gain)
            yield Part(f"{name}/conv{place}/b", (out,))
            height, across, channels = (height - kernel) // stride + 1, (across - kernel) // stride + 1, out
        width = height * across * channels
    else:
        height, across, channels = network.obs
        for place, out in enumerate(IMPALA):
            for step, before in (("conv", channels), ("a0", out), ("a1", out), ("b0", out), ("b1", out)):
                yield Part(f"{name}/block{place}/{step}/w", (3, 3, before, out), gain)
                yield Part(f"{name}/block{place}/{step}/b", (out,))
            height, across, channels = -(-height // 2), -(-across // 2), out
        width = height * across * channels
    for place, out in enumerate(network.widths):
        yield from _dense(f"{name}/dense{place}", width, out, gain)
        width = out


def _convolutions(network: Network) -> tuple[tuple[int, int, int], ...]:
    return SMALL_CNN if min(network.obs[:2]) < SMALL else CNN


def _dense(name: str, before: int, after: int, gain: float) -> list[Part]:
    return [Part(f"{name}/w", (before, after), gain), Part(f"{name}/b", (after,))]


def _orthogonal(part: Part, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    if part.gain == 0:
        return np.zeros(part.shape)
    rows, columns = math.prod(part.shape[:-1]), part.shape[-1]
    q, r = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))
    q *= np.sign(np.diag(r))
    made: np.ndarray[Any, Any] = part.gain * (q if rows >= columns else q.T).reshape(part.shape)
    return made


def _features(network: Network, weights: Weights, torso: str, obs: jax.Array) -> jax.Array:
    name = "shared" if network.shared else torso
    x = obs if network.kind == "mlp" else _image(network, weights, name, obs)
    for place in range(len(network.widths)):
        x = ACTIVATIONS[network.activation](_affine(weights, f"{name}/dense{place}", x))
    return x


def _image(network: Network, weights: Weights, name: str, obs: jax.Array) -> jax.Array:
    """The convolutional part, on images [batch, height, width, channel]; bytes become 0 to 1."""
    x = obs.astype(jnp.float32) / 255 if obs.dtype == jnp.uint8 else obs
    lead = x.shape[:-3]
    x = x.reshape((-1, *x.shape[-3:]))
    if network.kind == "cnn":
        for place, (_, _, stride) in enumerate(_convolutions(network)):
            x = jax.nn.relu(_convolve(weights, f"{name}/conv{place}", x, stride, 0))
        return x.reshape((*lead, -1))
    for place in range(len(IMPALA)):
        block = f"{name}/block{place}"
        x = _convolve(weights, f"{block}/conv", x, 1, 1)
        x = _pooled(x)
        for half in "ab":
            inner = _convolve(weights, f"{block}/{half}0", jax.nn.relu(x), 1, 1)
            x = x + _convolve(weights, f"{block}/{half}1", jax.nn.relu(inner), 1, 1)
    return jax.nn.relu(x).reshape((*lead, -1))


def _convolve(weights: Weights, name: str, x: jax.Array, stride: int, padding: int) -> jax.Array:
    """A convolution as one matrix product over patches: XLA's own on CPUs is a hundred times slower in the gradient."""
    kernel = weights[f"{name}/w"]
    side = kernel.shape[0]
    patches = jnp.concatenate(_shifted(jnp.pad(x, ((0, 0), (padding,) * 2, (padding,) * 2, (0, 0))), side, stride), axis=-1)
    return _product(patches, kernel.reshape((-1, kernel.shape[-1]))) + weights[f"{name}/b"]


def _pooled(x: jax.Array) -> jax.Array:
    """The largest of each 3 x 3 window at every second place, padded so that half the size, rounded up, is left."""
    pads = tuple(max((-(-size // 2) - 1) * 2 + 3 - size, 0) for size in x.shape[1:3])
    low = tuple(pad // 2 for pad in pads)
    high = tuple(pad - pad // 2 for pad in pads)
    x = jnp.pad(x, ((0, 0), (low[0], high[0]), (low[1], high[1]), (0, 0)), constant_values=-jnp.inf)
    return functools.reduce(jnp.maximum, _shifted(x, 3, 2))


def _shifted(x: jax.Array, side: int, stride: int) -> list[jax.Array]:
    """The images as each place of a square window sees them, row by row: side * side arrays."""
    height, width = ((size - side) // stride + 1 for size in x.shape[1:3])
    return [
        x[:, row : row + stride * (height - 1) + 1 : stride, column : column + stride * (width - 1) + 1 : stride]
        for row in range(side)
        for column in range(side)
    ]


def _remembered(network: Network, weights: Weights, features: jax.Array, memory: jax.Array) -> tuple[jax.Array, jax.Array]:
    """One step of a gated recurrent unit (Cho et al. 2014); networks without memory pass their features on."""
    if not network.memory:
        return features, memory
    reset, update, new = jnp.split(_affine(weights, "memory/in", features), 3, axis=-1)
    reset_h, update_h, new_h = jnp.split(_affine(weights, "memory/h", memory), 3, axis=-1)
    gate = jax.nn.sigmoid(update + update_h)
    candidate = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
    after = gate * memory + (1 - gate) * candidate
    return after, after


def _affine(weights: Weights, name: str, x: jax.Array) -> jax.Array:
    return _product(x, weights[f"{name}/w"]) + weights[f"{name}/b"]


@jax.custom_vjp
def _turned(w: jax.Array, x: jax.Array) -> jax.Array:
    """Layers [twin, in, out] of columns [twin, in, row], as [twin, out, row].

    On CPUs a product is faster if its first factor lies as it is read, here and in the gradient: that is worth a copy.
    """
    upright: jax.Array = jax.lax.optimization_barrier(jnp.swapaxes(w, 1, 2))
    return upright @ x


def _turned_forward(w: jax.Array, x: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return _turned(w, x), (w, x)


def _turned_backward(kept: tuple[jax.Array, jax.Array], slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    w, x = kept
    if w.shape[2] < NARROW:
        return jnp.swapaxes(jnp.einsum("tob,tib->toi", slope, x), 1, 2), w @ slope
    return jnp.einsum("tib,tob->tio", x, slope), w @ slope


_turned.defvjp(_turned_forward, _turned_backward)


@jax.custom_vjp
def _product(x: jax.Array, w: jax.Array) -> jax.Array:
    """`x @ w`, with a gradient for narrow `w` that is several times faster on CPUs than the one JAX would take."""
    return x @ w


def _product_forward(x: jax.Array, w: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    return x @ w, (x, w)


def _product_backward(kept: tuple[jax.Array, jax.Array], slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    x, w = kept
    rows, slopes = x.reshape((-1, x.shape[-1])), slope.reshape((-1, slope.shape[-1]))
    return slope @ w.T, (slopes.T @ rows).T if w.shape[1] < NARROW else rows.T @ slopes


_product.defvjp(_product_forward, _product_backward)
