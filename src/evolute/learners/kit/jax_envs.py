"""JAX environments inside a compiled program: several of each member, started, stepped, and started again where an episode
ended; and their states between turns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import JaxEnv, Step, channels_of


class EnvStates(NamedTuple):
    """A member's environments between two turns, [env, …]: their states as leaves, what they show, and their running episodes.

    `first` is 1 where an episode begins, `memory` the policy's, `discounted` the discounted return so far. Returns are
    [env, channel] where rewards have channels.
    """

    states: list[Any]
    obs: Any
    memory: Any
    first: Any
    episode_return: Any
    episode_length: Any
    discounted: Any


class World(Protocol):
    """The environments of one member, stepped together: arrays are [env, …]. `key` is one for all of them."""

    @property
    def envs(self) -> int: ...

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        """Their first states and observations."""

    def step(self, key: jax.Array, states: Any, action: jax.Array) -> Step:
        """The states after these actions. Episodes that ended are not reset."""

    def restart(self, key: jax.Array, states: Any) -> tuple[Any, jax.Array]:
        """What follows where an episode ended in these states."""

    def legal(self, states: Any) -> jax.Array | None:
        """Which actions are legal [env, action]; None if all always are."""


@dataclass(frozen=True)
class Copies:
    """Several copies of one environment. Of rewards with channels it gives those in `channels`, or the first alone."""

    env: JaxEnv
    envs: int
    channels: tuple[int, ...] = ()

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        return jax.vmap(self.env.reset)(jax.random.split(key, self.envs))

    def step(self, key: jax.Array, states: Any, action: jax.Array) -> Step:
        step = jax.vmap(self.env.step)(jax.random.split(key, self.envs), states, action)
        return step._replace(reward=picked(step.reward, self.channels)) if channels_of(self.env) else step

    def restart(self, key: jax.Array, states: Any) -> tuple[Any, jax.Array]:
        return self.reset(key)

    def legal(self, states: Any) -> None:
        return None


def started(world: World, units: int, key: jax.Array, channels: int = 0) -> EnvStates:
    """Environments at the beginning of their first episodes; `units` is the width of the policy's memory."""
    states, obs = world.reset(jax.random.fold_in(key, jnp.int32(0)))
    zeros, memory = jnp.zeros(world.envs), jnp.zeros((world.envs, units))
    nothing = jnp.zeros((world.envs, channels)) if channels else zeros
    return EnvStates(jax.tree.leaves(states), obs, memory, jnp.ones(world.envs), nothing, zeros, nothing)


def blank(world: World, units: int, channels: int = 0) -> EnvStates:
    """Zeros of the right shapes, on the host, to be started inside the program."""
    shapes = jax.eval_shape(lambda: started(world, units, jax.random.key(0), channels))
    zeros: EnvStates = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    return zeros


def fits(states: EnvStates | None, blank: EnvStates) -> bool:
    """Whether inherited environments are as many, and of the same kind, as the heir is to have."""
    if states is None:
        return False
    leaves, wanted = jax.tree.leaves(states), jax.tree.leaves(blank)
    return [np.shape(leaf) for leaf in leaves] == [np.shape(leaf) for leaf in wanted]


def structure(world: World) -> Any:
    """How the environments' states are put together from leaves."""
    return jax.tree.structure(jax.eval_shape(world.reset, jax.random.key(0))[0])


def restarted(world: World, moved: Step, ended: jax.Array, key: jax.Array, number: jax.Array) -> tuple[list[Any], jax.Array]:
    """The leaves and observations after a step, with a new episode in each environment whose episode `ended`.

    `number` is that of the key to use, which is derived only if there is such an episode: at most steps there is none.
    """

    def fresh() -> tuple[list[Any], jax.Array]:
        new, obs = world.restart(jax.random.fold_in(key, number), moved.state)
        states, obs = jax.tree.map(partial(where, ended), (new, obs), (moved.state, moved.obs))
        return jax.tree.leaves(states), obs

    leaves, obs = jax.lax.cond(jnp.any(ended), fresh, lambda: (jax.tree.leaves(moved.state), moved.obs))
    return leaves, obs


def picked(reward: jax.Array, channels: tuple[int, ...]) -> jax.Array:
    """These channels of rewards [..., channel], or the first alone, without an axis, if there are none."""
    return reward[..., np.array(channels)] if channels else reward[..., 0]


def where(chosen: jax.Array, one: jax.Array, other: jax.Array) -> jax.Array:
    """Rows of `one` where chosen [row], else of `other`."""
    return jnp.where(chosen.reshape((-1, *(1,) * (one.ndim - 1))), one, other)
