"""JAX environments inside a compiled program: several of each member, started, stepped, and started again where an episode
ended; and their states between turns."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import JaxEnv


class EnvStates(NamedTuple):
    """A member's environments between two turns, [env, …]: their states as leaves, what they show, and their running episodes.

    `first` is 1 where an episode begins, `memory` the policy's, `discounted` the discounted return so far.
    """

    states: list[Any]
    obs: Any
    memory: Any
    first: Any
    episode_return: Any
    episode_length: Any
    discounted: Any


def started(env: JaxEnv, envs: int, units: int, key: jax.Array) -> EnvStates:
    """Environments at the beginning of their first episodes; `units` is the width of the policy's memory."""
    states, obs = jax.vmap(env.reset)(keys(key, jnp.int32(0), envs))
    zeros = jnp.zeros(envs)
    return EnvStates(jax.tree.leaves(states), obs, jnp.zeros((envs, units)), jnp.ones(envs), zeros, zeros, zeros)


def blank(env: JaxEnv, envs: int, units: int) -> EnvStates:
    """Zeros of the right shapes, on the host, to be started inside the program."""
    shapes = jax.eval_shape(lambda: started(env, envs, units, jax.random.key(0)))
    zeros: EnvStates = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    return zeros


def fits(states: EnvStates | None, blank: EnvStates) -> bool:
    """Whether inherited environments are as many, and of the same kind, as the heir is to have."""
    if states is None:
        return False
    leaves, wanted = jax.tree.leaves(states), jax.tree.leaves(blank)
    return [np.shape(leaf) for leaf in leaves] == [np.shape(leaf) for leaf in wanted]


def structure(env: JaxEnv) -> Any:
    """How an environment's state is put together from leaves."""
    return jax.tree.structure(jax.eval_shape(env.reset, jax.random.key(0))[0])


def restarted(env: JaxEnv, moved: Any, ended: jax.Array, key: jax.Array, number: jax.Array) -> tuple[list[Any], jax.Array]:
    """The leaves and observations after a step, with a new episode in each environment whose episode `ended`.

    Their keys are drawn only if there is such an episode: at most steps there is none.
    """

    def fresh() -> tuple[list[Any], jax.Array]:
        new, obs = jax.vmap(env.reset)(keys(key, number, ended.shape[0]))
        states, obs = jax.tree.map(partial(where, ended), (new, obs), (moved.state, moved.obs))
        return jax.tree.leaves(states), obs

    leaves, obs = jax.lax.cond(jnp.any(ended), fresh, lambda: (jax.tree.leaves(moved.state), moved.obs))
    return leaves, obs


def keys(key: jax.Array, number: jax.Array, envs: int) -> jax.Array:
    """A key for each environment, for the use of this number."""
    return jax.random.split(jax.random.fold_in(key, number), envs)


def where(chosen: jax.Array, one: jax.Array, other: jax.Array) -> jax.Array:
    """Rows of `one` where chosen [row], else of `other`."""
    return jnp.where(chosen.reshape((-1, *(1,) * (one.ndim - 1))), one, other)
