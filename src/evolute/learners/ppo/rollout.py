"""Rollouts in JAX environments, inside the compiled program, and the turn that is made of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import JaxEnv
from evolute.learners.kit import networks, normal
from evolute.learners.kit.networks import Weights
from evolute.learners.ppo.model import Learnt, Model, Rollout
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.update import LOSSES, improve

FEW = 8
"""Up to so many environments, a CPU is faster with matrix-vector products."""


class Worlds(NamedTuple):
    """A member's environments between two turns: their states as leaves, what they show, and their running episodes."""

    states: list[Any]
    obs: Any
    memory: Any
    first: Any
    episode_return: Any
    episode_length: Any
    discounted: Any


class Tally(NamedTuple):
    """What happened in a turn: the last returns and lengths (a ring), how many episodes, sums of losses, and updates."""

    returns: Any
    lengths: Any
    episodes: Any
    losses: Any
    updates: Any
    sound: Any


class Row(NamedTuple):
    """One member inside the program."""

    learnt: Learnt
    worlds: Worlds
    tally: Tally


class Inputs(NamedTuple):
    """What one member's turn is given: its key's data, its settings, whether its environments start afresh, and how long.

    The settings are `Traced` as one array, since every array takes time to hand over.
    """

    key: Any
    hparams: Any
    fresh: Any
    updates: Any


class Chunk(NamedTuple):
    """Which updates of the turn to make now."""

    start: Any
    count: Any


def blank_tally(ring: int) -> Tally:
    """The tally before a turn."""
    zeros = np.zeros(ring, np.float32)
    return Tally(zeros, zeros, np.int32(0), np.zeros(len(LOSSES), np.float32), np.int32(0), np.float32(1))


def blank_worlds(model: Model, env: JaxEnv) -> Worlds:
    """Worlds of the right shape, to be started by the turn."""
    shapes = jax.eval_shape(lambda: _started(model, env, jax.random.key(0)))
    blank: Worlds = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), shapes)
    return blank


def updates(model: Model, env: JaxEnv, row: Row, inputs: Inputs, chunk: Chunk) -> Row:
    """Some of the updates of one member's turn."""
    key = jax.random.wrap_key_data(inputs.key)
    hparams = Traced(*(inputs.hparams[place] for place in range(len(Traced._fields))))
    begin = (inputs.fresh > 0) & (chunk.start == 0)
    worlds = jax.lax.cond(begin, lambda: _started(model, env, jax.random.fold_in(key, 0)), lambda: row.worlds)

    def update(number: jax.Array, row: Row) -> Row:
        return _update(model, env, row, hparams, jax.random.fold_in(key, chunk.start + number + 1))

    count = jnp.minimum(chunk.count, inputs.updates - chunk.start)
    made: Row = jax.lax.fori_loop(0, count, update, row._replace(worlds=worlds))
    return made


def _update(model: Model, env: JaxEnv, row: Row, h: Traced, key: jax.Array) -> Row:
    living, learning = jax.random.split(key)
    before = row.worlds.memory
    rollout, worlds, last_value, ended = _live(model, env, row.learnt, row.worlds, h, living)
    learnt, rollout, discounted = normalised(model, row.learnt, rollout, worlds.discounted, h)
    learnt, losses = improve(model, learnt, rollout, last_value, before, h, learning)
    return Row(learnt, worlds._replace(discounted=discounted), tallied(row.tally, rollout, *ended, losses))


def _live(
    model: Model, env: JaxEnv, learnt: Learnt, worlds: Worlds, h: Traced, key: jax.Array
) -> tuple[Rollout, Worlds, jax.Array, tuple[jax.Array, jax.Array]]:
    """One rollout: what was lived through (observations as they came), and the returns and lengths of ended episodes."""
    acting, stepping = jax.random.split(key)
    weights = networks.unpacked(model.network, learnt.optimiser.weights)
    seen = view(model, learnt.obs, h.normalize_obs)
    structure = _structure(env)

    def step(worlds: Worlds, now: tuple[jax.Array, jax.Array]) -> tuple[Worlds, tuple[Any, ...]]:
        noise, time = now
        memory = worlds.memory * (1 - worlds.first)[:, None]
        if model.network.shared:
            outputs, value, memory = networks.both(model.network, weights, seen(worlds.obs), memory)
        else:
            outputs, value = outputs_of(model, weights, seen(worlds.obs)), None
        action = model.actions.sample(weights, outputs, noise)
        states = jax.tree.unflatten(structure, worlds.states)
        moved = jax.vmap(env.step)(_keys(stepping, 2 * time, model), states, model.actions.to_env(action))
        reward = moved.reward.astype(jnp.float32)
        ended = moved.terminated | moved.truncated
        cut = moved.truncated & ~moved.terminated

        def beyond() -> Any:
            return h.discount * cut * networks.value(model.network, weights, seen(moved.obs), memory)

        def restarted() -> tuple[list[Any], jax.Array]:
            new, obs = jax.vmap(env.reset)(_keys(stepping, 2 * time + 1, model))
            states, obs = jax.tree.map(partial(where, ended), (new, obs), (moved.state, moved.obs))
            return jax.tree.leaves(states), obs

        extra = jax.lax.cond(jnp.any(cut), beyond, lambda: jnp.zeros(model.envs))
        states, obs = jax.lax.cond(jnp.any(ended), restarted, lambda: (jax.tree.leaves(moved.state), moved.obs))
        returned, length = worlds.episode_return + reward, worlds.episode_length + 1
        ends = ended.astype(jnp.float32)
        lived = (worlds.obs, action, outputs, value, reward, extra, ends, returned, length)
        return Worlds(states, obs, memory, ends, returned * (1 - ends), length * (1 - ends), worlds.discounted), lived

    noise = model.actions.noise(acting, (model.unroll, model.envs))
    after, lived = jax.lax.scan(step, worlds, (noise, jnp.arange(model.unroll)))
    obs, action, outputs, value, reward, extra, ends, returned, length = lived
    first = jnp.concatenate([worlds.first[None], ends[:-1]])
    value, last_value = _values(model, weights, seen, obs, value, after)
    rollout = Rollout(obs, action, outputs, value, reward, extra, 1 - ends, ends, first, jnp.ones_like(ends))
    return rollout, after, last_value, (returned, length)


def outputs_of(model: Model, weights: Weights, obs: jax.Array) -> jax.Array:
    """The policy's outputs without memory; of few environments one by one, so that the whole step becomes one function."""
    memory = jnp.zeros((len(obs), model.network.units))
    if len(obs) > FEW or not model.network.twin or jax.default_backend() != "cpu":
        return networks.policy(model.network, weights, obs, memory)[0]
    found: jax.Array = jax.lax.map(lambda one: networks.policy(model.network, weights, one[None], memory[:1])[0][0], obs)
    return found


def _values(
    model: Model,
    weights: Weights,
    seen: Callable[[jax.Array], jax.Array],
    obs: jax.Array,
    value: jax.Array | None,
    after: Worlds,
) -> tuple[jax.Array, jax.Array]:
    """The values of a rollout's observations [time, env] and of the one after it [env], in one pass if they are not known."""
    if value is not None:
        memory = after.memory * (1 - after.first)[:, None]
        return value, networks.value(model.network, weights, seen(after.obs), memory)
    every = jnp.concatenate([obs, after.obs[None]]).reshape((-1, *obs.shape[2:]))
    found = networks.value(model.network, weights, seen(every), jnp.zeros((every.shape[0], model.network.units)))
    found = found.reshape((model.unroll + 1, model.envs))
    return found[:-1], found[-1]


def normalised(
    model: Model, learnt: Learnt, rollout: Rollout, discounted: jax.Array, h: Traced
) -> tuple[Learnt, Rollout, jax.Array]:
    """The rollout as it is learnt from, and the statistics after it; `discounted` are the envs' running returns [env].

    Observations are scaled by what was known when they were acted upon, rewards by the returns up to now.
    """
    raw = rollout.obs.reshape((model.batch, *rollout.obs.shape[2:]))
    if not model.image:
        raw = raw.reshape((model.batch, -1)).astype(jnp.float32)
    valid = rollout.valid.ravel()
    obs = learnt.obs if model.image else _if(h.normalize_obs, lambda: normal.seen(learnt.obs, raw, valid), learnt.obs)

    def back(running: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        running = running * h.discount * (1 - now[1]) + now[0]
        return running, running

    def counted() -> tuple[normal.Moments, jax.Array]:
        after, along = jax.lax.scan(back, discounted, (rollout.reward, rollout.first))
        return normal.seen(learnt.returns, along.ravel(), valid), after

    returns, discounted = _if(h.normalize_reward, counted, (learnt.returns, discounted))
    scale = jnp.where(h.normalize_reward > 0, jax.lax.rsqrt(returns.variance + normal.TINY), 1.0) * h.reward_scale
    seen = view(model, learnt.obs, h.normalize_obs)(raw)
    seen = seen.reshape((model.unroll, model.envs, *seen.shape[1:]))
    return learnt._replace(obs=obs, returns=returns), rollout._replace(obs=seen, reward=rollout.reward * scale), discounted


def tallied(tally: Tally, rollout: Rollout, returned: jax.Array, length: jax.Array, losses: jax.Array) -> Tally:
    """The tally after an update; `returned` and `length` are those of running episodes at each step [time, env]."""
    ring = tally.returns.shape[0]
    ended = rollout.ends.ravel() > 0
    rank = jnp.cumsum(ended)
    total = rank[-1]
    place = jnp.where(ended & (rank > total - ring), (tally.episodes + rank - 1) % ring, ring)
    return Tally(
        tally.returns.at[place].set(returned.ravel(), mode="drop"),
        tally.lengths.at[place].set(length.ravel(), mode="drop"),
        tally.episodes + total,
        tally.losses + losses,
        tally.updates + 1,
        tally.sound * jnp.isfinite(jnp.sum(rollout.reward) + jnp.sum(rollout.value)),
    )


def _started(model: Model, env: JaxEnv, key: jax.Array) -> Worlds:
    states, obs = jax.vmap(env.reset)(_keys(key, jnp.int32(0), model))
    zeros = jnp.zeros(model.envs)
    memory = jnp.zeros((model.envs, model.network.units))
    return Worlds(jax.tree.leaves(states), obs, memory, jnp.ones(model.envs), zeros, zeros, zeros)


def _structure(env: JaxEnv) -> Any:
    return jax.tree.structure(jax.eval_shape(env.reset, jax.random.key(0))[0])


def _keys(key: jax.Array, number: jax.Array, model: Model) -> jax.Array:
    return jax.random.split(jax.random.fold_in(key, number), model.envs)


def view(model: Model, moments: normal.Moments, on: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """How a member sees observations [batch, …]: images as they are, others flat and perhaps normalised."""
    if model.image:
        return lambda obs: obs
    return lambda obs: normal.standard(moments, obs.reshape((obs.shape[0], -1)).astype(jnp.float32), on)


def _if(on: jax.Array, made: Callable[[], Any], kept: Any) -> Any:
    return jax.lax.cond(on > 0, made, lambda: kept)


def where(chosen: jax.Array, one: jax.Array, other: jax.Array) -> jax.Array:
    return jnp.where(chosen.reshape((-1, *(1,) * (one.ndim - 1))), one, other)
