"""Episodes that are played to measure a member, not to train it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.envs.interface import JaxEnv
from evolute.learners.kit import networks
from evolute.learners.ppo.model import Learnt, Model
from evolute.learners.ppo.rollout import view, where

LIMIT = 20_000
"""Steps after which an episode that does not end is counted as it stands."""


class Played(NamedTuple):
    """The returns and lengths of a member's episodes: [episode]."""

    returns: Any
    lengths: Any


class Player(NamedTuple):
    """A member as it plays: what it has learnt, and whether it normalises what it sees."""

    learnt: Learnt
    normalize_obs: Any


def play(model: Model, env: JaxEnv, greedy: bool, played: Played, player: Player, luck: jax.Array) -> Played:
    """One episode in each of several environments at once; `luck` is a key's data, the same for every member."""
    key = jax.random.wrap_key_data(luck)
    count = played.returns.shape[0]
    weights = networks.unpacked(model.network, player.learnt.optimiser.weights)
    seen = view(model, player.learnt.obs, player.normalize_obs)
    states, obs = jax.vmap(env.reset)(jax.random.split(jax.random.fold_in(key, 0), count))

    def goes_on(carried: tuple[Any, ...]) -> Any:
        time, _, _, _, alive, _ = carried
        return jnp.any(alive) & (time < LIMIT)

    def step(carried: tuple[Any, ...]) -> tuple[Any, ...]:
        time, states, obs, memory, alive, played = carried
        stepping, chance = jax.random.split(jax.random.fold_in(key, time + 1))
        outputs, memory = networks.policy(model.network, weights, seen(obs), memory)
        noise = model.actions.noise(chance, (count,))
        action = model.actions.mode(weights, outputs) if greedy else model.actions.sample(weights, outputs, noise)
        moved = jax.vmap(env.step)(jax.random.split(stepping, count), states, model.actions.to_env(action))
        states, obs = jax.tree.map(lambda new, old: where(alive, new, old), (moved.state, moved.obs), (states, obs))
        played = Played(played.returns + moved.reward * alive, played.lengths + alive)
        return time + 1, states, obs, memory, alive & ~(moved.terminated | moved.truncated), played

    memory = jnp.zeros((count, model.network.units))
    blank = Played(jnp.zeros(count), jnp.zeros(count))
    begin = (jnp.int32(0), states, obs, memory, jnp.ones(count, bool), blank)
    return jax.lax.while_loop(goes_on, step, begin)[-1]
