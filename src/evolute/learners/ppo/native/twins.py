"""What twins, dense policy and value networks of one shape, say of a minibatch, by machine code where there is any."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp

from evolute.learners.ppo.native import activations, passes, xla
from evolute.learners.ppo.native.passes import Plan
from evolute.learners.ppo.networks import Network

Said = tuple[jax.Array, jax.Array, dict[str, jax.Array]]
Kept = tuple[jax.Array, jax.Array, jax.Array]


def able(network: Network) -> bool:
    """Whether there is machine code for these networks on the devices in use."""
    return network.twin and network.activation in activations.KNOWN and jax.default_backend() == "cpu"


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def said(network: Network, weights: jax.Array, obs: jax.Array) -> Said:
    """Outputs [output, row], values [row] and the log-std, if it is learnt, for a weight vector and obs [feature, row].

    Only the weights have a gradient.
    """
    return _said(network, weights, obs)[0]


def _said(network: Network, weights: jax.Array, obs: jax.Array) -> tuple[Said, Kept]:
    plan = Plan(network, obs.shape[1])
    shapes = ((network.outputs, plan.rows), (plan.rows,), (plan.hidden,), (plan.room(xla.code().lanes),))
    outputs, values, hidden, _ = _called(f"{_registered(plan)}_forward", shapes, weights, obs)
    spread = {"log_std": weights[plan.starts["log_std"] :]} if network.spread else {}
    return (outputs, values, spread), (weights, obs, hidden)


def _slope(network: Network, kept: Kept, slopes: Said) -> tuple[jax.Array, None]:
    weights, obs, hidden = kept
    outputs, values, spread = slopes
    plan = Plan(network, obs.shape[1])
    shapes = (weights.shape, (plan.slopes,), (plan.turned,), (plan.room(xla.code().lanes),))
    given = (weights, obs, hidden, outputs, values, *spread.values())
    slope, *_ = _called(f"{_registered(plan)}_backward", shapes, *given)
    return slope, None


said.defvjp(_said, _slope)


def _called(name: str, shapes: tuple[tuple[int, ...], ...], *given: jax.Array) -> list[jax.Array]:
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return list(jax.ffi.ffi_call(name, made, vmap_method="sequential")(*given))


@cache
def _registered(plan: Plan) -> str:
    """What the names of both functions begin with."""
    network = plan.network
    sizes = (*plan.widths, network.outputs, network.spread, plan.rows)
    name = f"evolute_twins_{network.activation}_{'_'.join(map(str, sizes))}"
    said = 3 if network.spread else 2
    xla.register(f"{name}_forward", given=2, made=4, body=lambda emit, *both: passes.forward(emit, plan, *both))
    xla.register(f"{name}_backward", given=3 + said, made=4, body=lambda emit, *both: passes.backward(emit, plan, *both))
    return name
