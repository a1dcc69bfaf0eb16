"""A turn of one member in JAX environments, inside the compiled program: rollouts and updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, episode_stats, jax_envs, networks, teaching
from evolute.learners.kit.actions import masked
from evolute.learners.kit.arena import Opponents
from evolute.learners.kit.chunks import Chunk
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import EnvStates, World
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.kit.weights import Weights
from evolute.learners.ppo import teacher
from evolute.learners.ppo.rollout import Rollout, discounts, normalised, per_channel
from evolute.learners.ppo.settings import Traced, unpacked
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState
from evolute.learners.ppo.turn_stats import UNKNOWN, TurnStats
from evolute.learners.ppo.update import improve


class Row(NamedTuple):
    """One member inside the program."""

    train: TrainState
    envs: EnvStates
    stats: TurnStats


class Inputs(NamedTuple):
    """What one member's turn is given: its key's data, its settings, whether its environments start afresh, and how long.

    The settings are `Traced` as one array, since every array takes time to hand over. In games there are `opponents`,
    and whoever is taught has a `teacher`.
    """

    key: Any
    hparams: Any
    fresh: Any
    updates: Any
    opponents: Opponents | tuple[()] = ()
    teacher: TeacherInputs | tuple[()] = ()


Surroundings = Callable[[Player, Any], World]
"""Makes a member's world from the member as it plays now, and its opponents."""


def updates(spec: PPOSpec, surroundings: Surroundings, row: Row, inputs: Inputs, chunk: Chunk) -> Row:
    """Some of the updates of one member's turn."""
    key = jax.random.wrap_key_data(inputs.key)
    hparams = unpacked(inputs.hparams, len(spec.channels))
    begin = (inputs.fresh > 0) & (chunk.start == 0)

    def world(train: TrainState) -> World:
        return surroundings(Player(train.adam.weights, train.obs, hparams.normalize_obs), inputs.opponents)

    def started() -> EnvStates:
        return jax_envs.started(world(row.train), spec.network.units, jax.random.fold_in(key, 0), len(spec.channels))

    def update(number: jax.Array, row: Row) -> Row:
        update_key = jax.random.fold_in(key, chunk.start + number + 1)
        if not isinstance(inputs.teacher, TeacherInputs):
            return _update(spec, world(row.train), row, hparams, update_key)
        weight = teaching.weight(inputs.teacher, chunk.start + number, inputs.updates)
        return _update(spec, world(row.train), row, hparams._replace(teacher_weight=weight), update_key, inputs.teacher)

    envs = jax.lax.cond(begin, started, lambda: row.envs)
    count = jnp.minimum(chunk.count, inputs.updates - chunk.start)
    after: Row = jax.lax.fori_loop(0, count, update, row._replace(envs=envs))
    return after


def _update(spec: PPOSpec, world: World, row: Row, h: Traced, key: jax.Array, taught_by: TeacherInputs | None = None) -> Row:
    acting_key, learning_key = jax.random.split(key)
    before = row.envs.memory
    rollout, envs, last_value, ended = _collect(spec, world, row.train, row.envs, h, acting_key)
    targets: Any = ()
    if spec.teacher is not None and taught_by is not None:
        targets = teacher.targets(spec.teacher, taught_by, rollout.obs, rollout.action)
    train, rollout, discounted = normalised(spec, row.train, rollout, envs.discounted, h)
    train, losses = improve(spec, train, rollout, last_value, before, h, learning_key, targets)
    return Row(train, envs._replace(discounted=discounted), _counted(row.stats, rollout, *ended, losses))


def _counted(stats: TurnStats, rollout: Rollout, returned: jax.Array, length: jax.Array, losses: jax.Array) -> TurnStats:
    """The statistics after an update; `returned` and `length` are those of running episodes at each step."""
    finite = stats.finite * jnp.isfinite(jnp.sum(rollout.reward) + jnp.sum(rollout.value))
    trouble = jax.lax.cond(finite < stats.finite, lambda: _located(rollout, stats.updates), lambda: stats.trouble)
    episodes = episode_stats.updated(stats.episodes, rollout.ends, returned, length)
    return TurnStats(episodes, stats.losses + losses, stats.updates + 1, finite, trouble)


def _located(rollout: Rollout, updates: jax.Array) -> jax.Array:
    """The first number of a rollout that is none, as `TurnStats.trouble` has it: which of SUSPECTS, env and step.

    Observations were given by the step before the one that acts upon them.
    """
    time, envs = rollout.reward.shape[:2]
    suspects = (x.reshape((time, envs, -1)) for x in (rollout.obs, rollout.value, rollout.reward))
    bad = ~jnp.stack([jnp.isfinite(x).all(axis=-1) for x in suspects], axis=1)
    place = jnp.argmax(bad.ravel()).astype(jnp.int32)
    step, suspect, env = place // (3 * envs), place // envs % 3, place % envs
    found = jnp.stack([suspect, env, updates * time + step + (suspect > 0)]).astype(jnp.int32)
    return jnp.where(jnp.any(bad), found, jnp.array(UNKNOWN, jnp.int32))


def _collect(
    spec: PPOSpec, world: World, train: TrainState, envs: EnvStates, h: Traced, key: jax.Array
) -> tuple[Rollout, EnvStates, jax.Array, tuple[jax.Array, jax.Array]]:
    """One rollout (observations as they came), the envs and values after it, and the returns and lengths of episodes."""
    acting_key, stepping = jax.random.split(key)
    weights = networks.unpacked(spec.network, train.adam.weights)
    seen = acting.preprocessing(spec.policy, train.obs, h.normalize_obs)
    structure = jax_envs.structure(world)

    def step(envs: EnvStates, now: tuple[jax.Array, jax.Array]) -> tuple[EnvStates, tuple[Any, ...]]:
        noise, time = now
        memory = envs.memory * (1 - envs.first)[:, None]
        if spec.network.shared:
            outputs, value, memory = networks.both(spec.network, weights, seen(envs.obs), memory)
        else:
            outputs, value = acting.outputs(spec.policy, weights, seen(envs.obs)), None
        states = jax.tree.unflatten(structure, envs.states)
        outputs = masked(outputs, world.legal(states))
        action = spec.actions.sample(weights, outputs, noise)
        moved = world.step(jax.random.fold_in(stepping, 2 * time), states, spec.actions.to_env(action))
        reward = moved.reward.astype(jnp.float32)
        ended = moved.terminated | moved.truncated
        cut = moved.truncated & ~moved.terminated

        def beyond() -> Any:
            return discounts(h) * per_channel(cut, reward) * networks.value(spec.network, weights, seen(moved.obs), memory)

        extra = jax.lax.cond(jnp.any(cut), beyond, lambda: jnp.zeros(reward.shape))
        states, obs = jax_envs.restarted(world, moved, ended, stepping, 2 * time + 1)
        returned, length = envs.episode_return + reward, envs.episode_length + 1
        ends = ended.astype(jnp.float32)
        row = (envs.obs, action, outputs, value, reward, extra, ends, returned, length)
        going = 1 - ends
        running = returned * per_channel(going, returned), length * going
        return EnvStates(states, obs, memory, ends, *running, envs.discounted), row

    noise = spec.actions.noise(acting_key, (spec.unroll, spec.envs))
    after, rows = jax.lax.scan(step, envs, (noise, jnp.arange(spec.unroll)))
    obs, action, outputs, value, reward, extra, ends, returned, length = rows
    first = jnp.concatenate([envs.first[None], ends[:-1]])
    value, last_value = _values(spec, weights, seen, obs, value, after)
    rollout = Rollout(obs, action, outputs, value, reward, extra, 1 - ends, ends, first, jnp.ones_like(ends))
    return rollout, after, last_value, (returned, length)


def _values(
    spec: PPOSpec,
    weights: Weights,
    seen: Callable[[jax.Array], jax.Array],
    obs: jax.Array,
    value: jax.Array | None,
    after: EnvStates,
) -> tuple[jax.Array, jax.Array]:
    """The values of a rollout's observations [time, env(, channel)] and of the one after it [env(, channel)], in one pass if
    they are not known."""
    if value is not None:
        memory = after.memory * (1 - after.first)[:, None]
        return value, networks.value(spec.network, weights, seen(after.obs), memory)
    every = jnp.concatenate([obs, after.obs[None]]).reshape((-1, *obs.shape[2:]))
    values = networks.value(spec.network, weights, seen(every), jnp.zeros((every.shape[0], spec.network.units)))
    values = values.reshape((spec.unroll + 1, spec.envs, *values.shape[1:]))
    return values[:-1], values[-1]
