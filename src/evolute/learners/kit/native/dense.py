"""What dense policy and value networks of one shape say of a minibatch, and how they learn from it, by machine code."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp

from evolute.learners.kit import networks
from evolute.learners.kit.native import activations, passes, xla
from evolute.learners.kit.native.passes import Plan
from evolute.learners.kit.networks import Network

Words = tuple[jax.Array, jax.Array, dict[str, jax.Array]]
"""Outputs [output, row], values [row], and the log-std if it is learnt."""
Kept = tuple[jax.Array, jax.Array, jax.Array]


def able(network: Network) -> bool:
    """Whether there is machine code for these networks on the devices in use."""
    known = network.twin and network.activation in activations.KNOWN
    return known and jax.default_backend() == "cpu" and xla.version() is not None


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def said(network: Network, weights: jax.Array, obs: jax.Array) -> Words:
    """What the networks say with a weight vector of obs [feature, row]; only the weights have a gradient."""
    return _forward(network, weights, obs)[0]


def _forward(network: Network, weights: jax.Array, obs: jax.Array) -> tuple[Words, Kept]:
    _check(network, weights, obs)
    plan = Plan(network, obs.shape[1])
    shapes = ((network.outputs, plan.rows), (plan.rows,), (plan.hidden,), (plan.room(xla.code().lanes),))
    outputs, values, hidden, _ = _called(f"{_registered(plan)}_forward", shapes, weights, obs)
    spread = {"log_std": weights[plan.starts["log_std"] :]} if network.spread else {}
    return (outputs, values, spread), (weights, obs, hidden)


def _backward(network: Network, kept: Kept, slopes: Words) -> tuple[jax.Array, None]:
    weights, obs, hidden = kept
    outputs, values, spread = slopes
    plan = Plan(network, obs.shape[1])
    shapes = (weights.shape, (plan.slopes,), (plan.turned,), (plan.room(xla.code().lanes),))
    given = (weights, obs, hidden, outputs, values, *spread.values())
    slope, *_ = _called(f"{_registered(plan)}_backward", shapes, *given)
    return slope, None


said.defvjp(_forward, _backward)


def _check(network: Network, weights: jax.Array, obs: jax.Array) -> None:
    """Machine code reads what it is told is there."""
    given = [(array.shape, array.dtype) for array in (weights, obs)]
    fitting = [((networks.size(network),), jnp.float32), ((*network.obs, *obs.shape[1:]), jnp.float32)]
    if given != fitting or obs.ndim != 2:
        raise ValueError(f"weights and observations are {given}, these networks take {fitting}, with one axis of rows")


def _called(name: str, shapes: tuple[tuple[int, ...], ...], *given: jax.Array) -> list[jax.Array]:
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return list(jax.ffi.ffi_call(name, made, vmap_method="sequential")(*given))


@cache
def _registered(plan: Plan) -> str:
    """What the names of both functions begin with."""
    network = plan.network
    sizes = (*plan.widths, network.outputs, network.spread, plan.rows, xla.code().lanes)
    name = f"evolute_dense_{network.activation}_{'_'.join(map(str, sizes))}"
    slopes = 3 if network.spread else 2
    xla.register(f"{name}_forward", given=2, made=4, body=lambda emit, *both: passes.forward(emit, plan, *both))
    xla.register(f"{name}_backward", given=3 + slopes, made=4, body=lambda emit, *both: passes.backward(emit, plan, *both))
    return name
