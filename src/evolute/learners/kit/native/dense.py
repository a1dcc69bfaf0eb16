"""Predictions of dense networks for a minibatch, and gradients of their weights or of their inputs, by machine code."""

from __future__ import annotations

from functools import cache, partial

import jax
import jax.numpy as jnp

from evolute.learners.kit.native import passes, xla
from evolute.learners.kit.native.towers import TowerLayout, Towers
from evolute.learners.kit.networks import Network

Outputs = tuple[jax.Array, ...]
"""The outputs [output, row] of each tower, and what else is in the weight vector, if there is anything."""
Kept = tuple[jax.Array, jax.Array, jax.Array]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def predict(towers: Towers, weights: jax.Array, inputs: jax.Array) -> Outputs:
    """What towers with this weight vector predict for inputs [feature, row]; only the weights have a gradient."""
    return _forward(towers, weights, inputs)[0]


def _forward(towers: Towers, weights: jax.Array, inputs: jax.Array) -> tuple[Outputs, Kept]:
    _check(towers, weights, inputs)
    layout = TowerLayout(towers, inputs.shape[1])
    shapes = (*((head.outputs, layout.rows) for head in towers.heads), (layout.hidden,), (layout.room(xla.code().lanes),))
    *outputs, hidden, _ = _called(f"{_registered(layout)}_forward", shapes, weights, inputs)
    extra = (weights[towers.size - towers.extra :],) if towers.extra else ()
    return (*outputs, *extra), (weights, inputs, hidden)


def _backward(towers: Towers, kept: Kept, gradients: Outputs) -> tuple[jax.Array, None]:
    weights, inputs, hidden = kept
    layout = TowerLayout(towers, inputs.shape[1])
    shapes = (weights.shape, (layout.gradients,), (layout.turned,), (layout.room(xla.code().lanes),))
    gradient, *_ = _called(f"{_registered(layout)}_backward", shapes, weights, inputs, hidden, *gradients)
    return gradient, None


predict.defvjp(_forward, _backward)


def predict_twins(network: Network, weights: jax.Array, obs: jax.Array) -> tuple[jax.Array, jax.Array, dict[str, jax.Array]]:
    """The same for policy and value: outputs [output, row], values [(channel,) row], and the log-std if it is learnt."""
    outputs, values, *extra = predict(Towers.of_network(network), weights, obs)
    return outputs, values if network.channels else values[0], {"log_std": extra[0]} if extra else {}


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def predict_by_input(towers: Towers, first: int, weights: jax.Array, inputs: jax.Array) -> Outputs:
    """The same, but only the inputs from the feature `first` on have a gradient."""
    return _forward(towers, weights, inputs)[0]


def _forward_by_input(towers: Towers, first: int, weights: jax.Array, inputs: jax.Array) -> tuple[Outputs, Kept]:
    return _forward(towers, weights, inputs)


def _backward_to_input(towers: Towers, first: int, kept: Kept, gradients: Outputs) -> tuple[None, jax.Array]:
    weights, inputs, hidden = kept
    layout = TowerLayout(towers, inputs.shape[1])
    shapes = ((towers.inputs - first, layout.rows), (layout.gradients,), (layout.room(xla.code().lanes),))
    gradient, *_ = _called(_registered_by_input(layout, first), shapes, weights, hidden, *gradients[: towers.count])
    return None, jnp.concatenate([jnp.zeros((first, layout.rows)), gradient])


predict_by_input.defvjp(_forward_by_input, _backward_to_input)


def _check(towers: Towers, weights: jax.Array, inputs: jax.Array) -> None:
    """Machine code does not check what it reads."""
    given = [(array.shape, array.dtype) for array in (weights, inputs)]
    fitting = [((towers.size,), jnp.float32), ((towers.inputs, *inputs.shape[1:]), jnp.float32)]
    if given != fitting or inputs.ndim != 2:
        raise ValueError(f"weights and inputs are {given}, these networks take {fitting}, with one axis of rows")


def _called(name: str, shapes: tuple[tuple[int, ...], ...], *given: jax.Array) -> list[jax.Array]:
    made = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    return list(jax.ffi.ffi_call(name, made, vmap_method="sequential")(*given))


def _name(layout: TowerLayout) -> str:
    return f"evolute_dense_{layout.towers.name}_{layout.rows}_{xla.code().lanes}"


@cache
def _registered(layout: TowerLayout) -> str:
    """What the names of both functions begin with."""
    name, count = _name(layout), layout.towers.count
    xla.register(f"{name}_forward", given=2, made=count + 2, body=lambda emit, *both: passes.forward(emit, layout, *both))
    given = 3 + count + (layout.towers.extra > 0)
    xla.register(f"{name}_backward", given=given, made=4, body=lambda emit, *both: passes.backward(emit, layout, *both))
    return name


@cache
def _registered_by_input(layout: TowerLayout, first: int) -> str:
    """The name of the function."""
    name = f"{_name(layout)}_to_{first}"

    xla.register(
        name,
        given=2 + layout.towers.count,
        made=3,
        body=lambda emit, *both: passes.backward_to_inputs(emit, layout, first, *both),
    )
    return name
