"""Actors and critics by machine code: minibatches [row, feature], as the updates have them."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp

from evolute.learners.kit.native import dense
from evolute.learners.kit.native.towers import Towers
from evolute.learners.kit.networks import Network
from evolute.learners.offpolicy.spec import CRITICS, ReplaySpec


def outputs(network: Network, vector: jax.Array, obs: jax.Array) -> jax.Array:
    """The outputs [row, output] of a policy's network; its weights have a gradient."""
    return dense.predict(Towers.of_network(network), vector, obs.T)[0].T


def values(spec: ReplaySpec, vector: jax.Array, obs: jax.Array, action: jax.Array) -> jax.Array:
    """What both critics think of actions, [critic, row]; the critics have a gradient."""
    return jnp.concatenate(dense.predict(_critics(spec, CRITICS), vector, _shown(obs, action)))


def values_by_action(spec: ReplaySpec, vector: jax.Array, names: Sequence[str], obs: jax.Array, action: jax.Array) -> jax.Array:
    """What these critics think of actions, [critic, row]; the actions have a gradient."""
    towers = _critics(spec, names)
    return jnp.concatenate(dense.predict_by_input(towers, obs.shape[1], vector, _shown(obs, action)))


def _critics(spec: ReplaySpec, names: Sequence[str]) -> Towers:
    return Towers.of(spec.critic_parts, names, [f"{name}/head" for name in names], spec.critic.activation)


def _shown(obs: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.concatenate([obs.T, action.T])
