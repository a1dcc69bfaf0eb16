"""Predictions of dense policy and value networks of one shape for a minibatch, and their gradient, by machine code."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp

from evolute.learners.kit import networks
from evolute.learners.kit.native import passes, xla
from evolute.learners.kit.native.passes import TwinLayout
from evolute.learners.kit.networks import Network

Outputs = tuple[jax.Array, jax.Array, dict[str, jax.Array]]
"""Outputs [output, row], values [(channel,) row], and the log-std if it is learnt."""
Kept = tuple[jax.Array, jax.Array, jax.Array]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def predict(network: Network, weights: jax.Array, obs: jax.Array) -> Outputs:
    """What networks with this weight vector predict for obs [feature, row]; only the weights have a gradient."""
    return _forward(network, weights, obs)[0]


def _forward(network: Network, weights: jax.Array, obs: jax.Array) -> tuple[Outputs, Kept]:
    _check(network, weights, obs)
    layout = TwinLayout(network, obs.shape[1])
    values_shape = (network.channels, layout.rows) if network.channels else (layout.rows,)
    shapes = ((network.outputs, layout.rows), values_shape, (layout.hidden,), (layout.room(xla.code().lanes),))
    outputs, values, hidden, _ = _called(f"{_registered(layout)}_forward", shapes, weights, obs)
    spread = {"log_std": weights[layout.starts["log_std"] :]} if network.spread else {}
    return (outputs, values, spread), (weights, obs, hidden)


def _backward(network: Network, kept: Kept, gradients: Outputs) -> tuple[jax.Array, None]:
    weights, obs, hidden = kept
    outputs, values, spread = gradients
    layout = TwinLayout(network, obs.shape[1])
    shapes = (weights.shape, (layout.gradients,), (layout.turned,), (layout.room(xla.code().lanes),))
    given = (weights, obs, hidden, outputs, values, *spread.values())
    gradient, *_ = _called(f"{_registered(layout)}_backward", shapes, *given)
    return gradient, None


predict.defvjp(_forward, _backward)


def _check(network: Network, weights: jax.Array, obs: jax.Array) -> None:
    """Machine code does not check what it reads."""
    given = [(array.shape, array.dtype) for array in (weights, obs)]
    fitting = [((networks.size(network),), jnp.float32), ((*network.obs, *obs.shape[1:]), jnp.float32)]
    if given != fitting or obs.ndim != 2:
        raise ValueError(f"weights and observations are {given}, these networks take {fitting}, with one axis of rows")


def _called(name: str, shapes: tuple[tuple[int, ...], ...], *given: jax.Array) -> list[jax.Array]:
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return list(jax.ffi.ffi_call(name, made, vmap_method="sequential")(*given))


@cache
def _registered(layout: TwinLayout) -> str:
    """What the names of both functions begin with."""
    network = layout.network
    sizes = (*layout.widths, network.outputs, network.spread, network.values, layout.rows, xla.code().lanes)
    name = f"evolute_dense_{network.activation}_{'_'.join(map(str, sizes))}"
    heads = 3 if network.spread else 2
    xla.register(f"{name}_forward", given=2, made=4, body=lambda emit, *both: passes.forward(emit, layout, *both))
    xla.register(f"{name}_backward", given=3 + heads, made=4, body=lambda emit, *both: passes.backward(emit, layout, *both))
    return name
