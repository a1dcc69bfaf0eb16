"""A turn of one member inside the compiled program: rollouts, each followed by the updates that are due."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import JaxEnv
from evolute.learners.kit import acting, episode_stats, jax_envs, networks, normalise, teaching
from evolute.learners.kit.chunks import Chunk
from evolute.learners.kit.episode_stats import EpisodeStats
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.jax_envs import Copies, EnvStates
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.offpolicy import teacher
from evolute.learners.offpolicy.buffer import GOES_ON, LEADING, TERMINATED, TIME_LIMIT, VOID, Rows
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import TrainState, folded
from evolute.learners.offpolicy.updates import METRICS, UPDATES, Values, preprocessed
from evolute.learners.offpolicy.window import Window, drawn, held


class TurnStats(NamedTuple):
    """The last episodes, sums of `METRICS` over the updates of this turn, how many there were, and whether all was finite."""

    episodes: EpisodeStats
    sums: Any
    made: Any
    finite: Any


def blank_stats(ring: int) -> TurnStats:
    """Before a turn, on the host."""
    return TurnStats(episode_stats.blank(ring), np.zeros(len(METRICS), np.float32), np.int32(0), np.float32(1))


class JaxRow(NamedTuple):
    """One member inside the program, with its environments and the rows [env, time, …] of this turn."""

    train: TrainState
    envs: EnvStates
    new: Rows
    stats: TurnStats


class HostRow(NamedTuple):
    """One member whose environments are on the host."""

    train: TrainState
    stats: TurnStats


class Inputs(NamedTuple):
    """What one member's turn is given: its key's data, its settings, whether its environments start afresh, how many rollouts.

    `begun` is how many steps the member had made before. `old`, `count` and `places` are its rows from before, see `Loaded`.
    Whoever is taught has a `teacher`. Of environments on the host there are the rows of this turn and a rollout.
    """

    key: Any
    hparams: Any
    fresh: Any
    rollouts: Any
    begun: Any
    old: Rows
    count: Any
    teacher: TeacherInputs | tuple[()] = ()
    places: Any = ()
    new: Rows | tuple[()] = ()
    trajectory: Trajectory | tuple[()] = ()


def in_jax(spec: ReplaySpec, env: JaxEnv, row: JaxRow, inputs: Inputs, chunk: Chunk) -> JaxRow:
    """Some of the rollouts of one member's turn in JAX environments, with their updates."""
    key, h, world = jax.random.wrap_key_data(inputs.key), named(spec, inputs.hparams), Copies(env, spec.envs)

    def started() -> EnvStates:
        begun = jax_envs.started(world, 1, jax.random.fold_in(key, 0))
        return begun._replace(first=jnp.zeros(spec.envs))

    def rollout(place: jax.Array, row: JaxRow) -> JaxRow:
        number = chunk.start + place
        acting_key, learning_key = jax.random.split(jax.random.fold_in(key, number + 1))
        trajectory, envs, ended = _collect(spec, world, row, h, acting_key)
        new = _appended(spec, row.new, trajectory, number)
        stats = row.stats._replace(episodes=episode_stats.updated(row.stats.episodes, *ended))
        window = _window(spec, inputs, held(new), number)
        train, stats = _learn(spec, row.train, stats, window, inputs, trajectory, number, learning_key)
        return JaxRow(train, envs, new, stats)

    envs = jax.lax.cond((inputs.fresh > 0) & (chunk.start == 0), started, lambda: row.envs)
    count = jnp.minimum(chunk.count, inputs.rollouts - chunk.start)
    done: JaxRow = jax.lax.fori_loop(0, count, rollout, row._replace(envs=envs))
    return done


def on_host(spec: ReplaySpec, row: HostRow, inputs: Inputs, number: jax.Array) -> HostRow:
    """What follows the rollout of this number on the host; a member whose turn is over stays as it is."""
    new, trajectory = inputs.new, inputs.trajectory
    assert isinstance(new, Rows)
    assert isinstance(trajectory, Trajectory)
    window = _window(spec, inputs, new, number)
    key = jax.random.fold_in(jax.random.wrap_key_data(inputs.key), -1 - number)

    def learnt() -> HostRow:
        return HostRow(*_learn(spec, row.train, row.stats, window, inputs, trajectory, number, key))

    after: HostRow = jax.lax.cond(number < inputs.rollouts, learnt, lambda: row)
    return after


def explorer(spec: ReplaySpec, before: Player, given: tuple[TrainState, jax.Array], shared: tuple[()]) -> Player:
    """A member as it collects."""
    train, hparams = given
    h = named(spec, hparams)
    return Player(_explorer_weights(spec, train, h), train.obs, h["normalize_obs"])


@partial(jax.jit, static_argnums=0, donate_argnums=1)
def appended(spec: ReplaySpec, new: Rows, trajectory: Trajectory, number: Any) -> Rows:
    """The rows of all members [member, env, time, …] with those of the rollout of this number, in the same memory."""
    return jax.vmap(partial(_appended, spec), in_axes=(0, 0, None))(new, trajectory, number)


def named(spec: ReplaySpec, hparams: jax.Array) -> dict[str, jax.Array]:
    """The settings by name."""
    return {name: hparams[place] for place, name in enumerate(spec.traced)}


def _window(spec: ReplaySpec, inputs: Inputs, new: Rows, number: jax.Array) -> Window:
    return Window(inputs.old, inputs.count, new, (number + 1) * spec.unroll, spec.capacity, spec.frames, inputs.places)


def _explorer_weights(spec: ReplaySpec, train: TrainState, h: Values) -> jax.Array:
    """The weights that act while collecting: the policy's, and behind them how to explore."""
    core = folded(spec.policy.network, train.actor.weights, dueling=spec.dueling)
    core = core[: core.shape[0] - spec.policy.network.spread]
    if spec.algorithm == "dqn":
        begun = jnp.clip(train.steps / jnp.maximum(h["explore"], 1), 0, 1)
        share = jnp.where(train.steps < h["warmup"], 1.0, 1 + begun * (h["epsilon"] - 1))
    else:
        share = (train.steps < h["warmup"]).astype(jnp.float32)
    return jnp.concatenate([core, jnp.stack([share, h.get("noise", jnp.float32(0))])])


def _learn(
    spec: ReplaySpec,
    train: TrainState,
    stats: TurnStats,
    window: Window,
    inputs: Inputs,
    trajectory: Trajectory,
    number: jax.Array,
    key: jax.Array,
) -> tuple[TrainState, TurnStats]:
    """The member after the updates that are due after the rollout of this number."""
    h, taught_by = named(spec, inputs.hparams), inputs.teacher
    if isinstance(taught_by, TeacherInputs):
        h["teacher_weight"] = teaching.weight(taught_by, number, inputs.rollouts)
    train = train._replace(steps=train.steps + spec.steps)
    if not spec.policy.image:
        flat = trajectory.obs[:-1].reshape((spec.steps, -1))
        train = train._replace(obs=normalise.updated(train.obs, flat, jnp.ones(spec.steps)))
    due = jnp.floor(h["ratio"] * _counted(spec, train, inputs, h)).astype(jnp.int32) - stats.made
    due, update = jnp.maximum(due, 0), UPDATES[spec.algorithm]

    def learn(place: jax.Array, carried: tuple[TrainState, jax.Array]) -> tuple[TrainState, jax.Array]:
        train, sums = carried
        drawing, updating = jax.random.split(jax.random.fold_in(key, place))
        batch = drawn(window, drawing, spec.batch, n_step=h["n_step"], discount=h["discount"])
        if isinstance(taught_by, TeacherInputs):
            batch = batch._replace(teacher=teacher.outputs(spec, taught_by, batch.obs))
        train, metrics = update(spec, train, preprocessed(spec, train, batch, h), h, updating)
        return train, sums + metrics

    train, sums = jax.lax.fori_loop(0, due, learn, (train, stats.sums))
    finite = stats.finite * jnp.isfinite(jnp.sum(sums) + jnp.sum(trajectory.reward))
    return train, stats._replace(sums=sums, made=stats.made + due, finite=finite)


def _counted(spec: ReplaySpec, train: TrainState, inputs: Inputs, h: Values) -> jax.Array:
    """The steps of this turn so far for which there are updates: those after the warm-up, also of an empty buffer."""
    missing = jnp.maximum(jnp.minimum(h["warmup"], spec.capacity) - inputs.count, 0)
    return jnp.maximum(train.steps - jnp.maximum(inputs.begun + missing, h["warmup"]), 0)


def _appended(spec: ReplaySpec, new: Rows, trajectory: Trajectory, number: jax.Array) -> Rows:
    """The rows of this turn with those of a rollout; the row after them has nothing but what is observed now."""
    flag = jnp.where(trajectory.ends > 0, jnp.where(trajectory.terminated > 0, TERMINATED, TIME_LIMIT), GOES_ON)
    flag = jnp.where(trajectory.valid > 0, flag, VOID)
    action = trajectory.action_outputs[..., : spec.exploring.width]
    facts = jnp.concatenate([action, trajectory.reward[..., None], flag[..., None]], axis=-1)
    now = jnp.zeros((1, *facts.shape[1:])).at[..., -1].set(VOID)
    frames, obs = spec.frames, trajectory.obs.reshape((spec.unroll + 1, spec.envs, *spec.frames.stack)).astype(new.obs.dtype)
    made = Rows(frames.newest(obs), jnp.concatenate([facts, now]))
    put = partial(jax.lax.dynamic_update_slice_in_dim, start_index=frames.leading + number * spec.unroll, axis=1)
    after = Rows(*(put(before, jnp.moveaxis(rows, 0, 1)) for before, rows in zip(new, made, strict=True)))
    return _led(after, frames.older(obs[0]), number) if frames.leading else after


def _led(new: Rows, older: jax.Array, number: jax.Array) -> Rows:
    """The rows of a turn; those of its first rollout are led by the older frames [env, time, …] of what is observed first."""
    leading, first = older.shape[1], number == 0
    obs = jnp.where(first, older, new.obs[:, :leading])
    flags = jnp.where(first, LEADING + GOES_ON, new.facts[:, :leading, -1])
    return Rows(new.obs.at[:, :leading].set(obs), new.facts.at[:, :leading, -1].set(flags))


def _collect(
    spec: ReplaySpec, world: Copies, row: JaxRow, h: Values, key: jax.Array
) -> tuple[Trajectory, EnvStates, tuple[jax.Array, jax.Array, jax.Array]]:
    """One rollout in JAX environments, the environments after it, and ends, returns and lengths of episodes.

    As on the host, an environment is reset in the step after an episode's end; that step is void.
    """
    drawing, stepping = jax.random.split(key)
    policy = spec.explorer
    vector = _explorer_weights(spec, row.train, h)
    weights = networks.unpacked(policy.network, vector)
    seen = acting.preprocessing(policy, row.train.obs, h["normalize_obs"])
    structure = jax_envs.structure(world)

    def step(envs: EnvStates, now: tuple[jax.Array, jax.Array]) -> tuple[EnvStates, tuple[Any, ...]]:
        noise, time = now
        outputs = acting.outputs(policy, weights, seen(envs.obs))
        action = spec.exploring.sample(weights, outputs, noise)
        states = jax.tree.unflatten(structure, envs.states)
        moved = world.step(jax.random.fold_in(stepping, 2 * time), states, spec.exploring.to_env(action))
        valid = 1 - envs.first
        leaves, obs = jax_envs.restarted(world, moved, envs.first > 0, stepping, 2 * time + 1)
        reward = moved.reward.astype(jnp.float32) * valid
        terminated = moved.terminated * valid
        ends = jnp.maximum(terminated, moved.truncated * valid)
        returned, length = envs.episode_return + reward, envs.episode_length + valid
        after = EnvStates(leaves, obs, envs.memory, ends, returned * (1 - ends), length * (1 - ends), envs.discounted)
        return after, (envs.obs, action, reward, terminated, ends, valid, returned, length)

    noise = spec.exploring.noise(drawing, (spec.unroll, spec.envs))
    after, rows = jax.lax.scan(step, row.envs, (noise, jnp.arange(spec.unroll)))
    obs, action, reward, terminated, ends, valid, returned, length = rows
    first = jnp.concatenate([row.envs.first[None], ends])
    trajectory = Trajectory(jnp.concatenate([obs, after.obs[None]]), action, reward, terminated, ends, first, valid, ())
    return trajectory, after, (ends, returned, length)
