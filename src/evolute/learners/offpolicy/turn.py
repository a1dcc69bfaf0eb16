"""A turn of one member inside the compiled program: rollouts, each followed by the updates that are due."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.envs.interface import JaxEnv
from evolute.learners.kit import acting, episode_stats, jax_envs, networks, normalise
from evolute.learners.kit.episode_stats import EpisodeStats
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.jax_envs import Copies, EnvStates
from evolute.learners.kit.members import Held
from evolute.learners.offpolicy.buffer import GOES_ON, TERMINATED, TIME_LIMIT, VOID, New, Window, drawn
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import TrainState, folded
from evolute.learners.offpolicy.updates import UPDATES, Values, seen_batch


class TurnStats(NamedTuple):
    """The last episodes, sums of `METRICS` over the updates of this turn, how many there were, and whether all was finite."""

    episodes: EpisodeStats
    sums: Any
    made: Any
    finite: Any


class Row(NamedTuple):
    """One member inside the program."""

    train: TrainState
    envs: EnvStates | tuple[()]
    new: New
    stats: TurnStats


class Inputs(NamedTuple):
    """What one member's turn is given: its key's data, its settings, how many rollouts, and the rows from before.

    `begun` is how many steps the member had made before the turn. Of environments on the host there is a rollout.
    """

    key: Any
    hparams: Any
    fresh: Any
    rollouts: Any
    begun: Any
    obs: Held
    facts: Held
    count: Any
    trajectory: Trajectory | tuple[()] = ()


class Chunk(NamedTuple):
    """Which rollouts of the turn to make now."""

    start: Any
    count: Any


def in_jax(spec: ReplaySpec, env: JaxEnv, names: tuple[str, ...], capacity: int, row: Row, inputs: Inputs, chunk: Chunk) -> Row:
    """Some of the rollouts of one member's turn in JAX environments, with their updates."""
    key, h = jax.random.wrap_key_data(inputs.key), _named(names, inputs.hparams)
    world = Copies(env, spec.envs)

    def started() -> EnvStates:
        begun = jax_envs.started(world, 1, jax.random.fold_in(key, 0))
        return begun._replace(first=jnp.zeros(spec.envs))

    def rollout(number: jax.Array, row: Row) -> Row:
        turn = chunk.start + number
        acting_key, learning_key = jax.random.split(jax.random.fold_in(key, turn + 1))
        trajectory, envs, ended = _collect(spec, world, row, h, inputs, acting_key)
        episodes = episode_stats.updated(row.stats.episodes, *ended)
        row = row._replace(envs=envs, stats=row.stats._replace(episodes=episodes))
        return _after(spec, capacity, row, inputs, h, trajectory, turn, learning_key)

    envs = jax.lax.cond((inputs.fresh > 0) & (chunk.start == 0), started, lambda: row.envs)
    count = jnp.minimum(chunk.count, inputs.rollouts - chunk.start)
    done: Row = jax.lax.fori_loop(0, count, rollout, row._replace(envs=envs))
    return done


def on_host(spec: ReplaySpec, names: tuple[str, ...], capacity: int, row: Row, inputs: Inputs, number: jax.Array) -> Row:
    """What follows one rollout on the host; a member whose turn is over stays as it is."""
    trajectory = inputs.trajectory
    assert isinstance(trajectory, Trajectory)
    key, h = jax.random.wrap_key_data(inputs.key), _named(names, inputs.hparams)
    learning_key = jax.random.fold_in(key, -1 - number)

    def learnt() -> Row:
        return _after(spec, capacity, row, inputs, h, trajectory, number, learning_key)

    after: Row = jax.lax.cond(number < inputs.rollouts, learnt, lambda: row)
    return after


def explorer_weights(spec: ReplaySpec, train: TrainState, h: Values) -> jax.Array:
    """The weights that act while collecting: the policy's, and behind them how to explore."""
    core = folded(spec, train.actor.weights)
    core = core[: core.shape[0] - spec.policy.network.spread]
    if spec.algorithm == "dqn":
        begun = jnp.clip(train.steps / jnp.maximum(h["explore"], 1), 0, 1)
        share = jnp.where(train.steps < h["warmup"], 1.0, 1 + begun * (h["epsilon"] - 1))
    else:
        share = (train.steps < h["warmup"]).astype(jnp.float32)
    return jnp.concatenate([core, jnp.stack([share, h.get("noise", jnp.float32(0))])])


def _named(names: tuple[str, ...], hparams: jax.Array) -> dict[str, jax.Array]:
    return {name: hparams[place] for place, name in enumerate(names)}


def _after(
    spec: ReplaySpec,
    capacity: int,
    row: Row,
    inputs: Inputs,
    h: Values,
    trajectory: Trajectory,
    number: jax.Array,
    key: jax.Array,
) -> Row:
    """The member after a rollout: its rows are kept, and learnt from as often as is due."""
    new = _kept(spec, row.new, trajectory, number * spec.unroll)
    flat = trajectory.obs[:-1].reshape((spec.steps, *trajectory.obs.shape[2:]))
    train = row.train._replace(steps=row.train.steps + spec.steps)
    if not spec.policy.image:
        moments = normalise.updated(train.obs, flat.reshape((spec.steps, -1)), jnp.ones(spec.steps))
        train = train._replace(obs=moments)
    window = Window(inputs.obs, inputs.facts, inputs.count, new, (number + 1) * spec.unroll, capacity)
    counted = train.steps - jnp.maximum(inputs.begun, h["warmup"])
    due = jnp.floor(h["ratio"] * jnp.maximum(counted, 0)).astype(jnp.int32) - row.stats.made
    update = UPDATES[spec.algorithm]

    def learn(place: jax.Array, carried: tuple[TrainState, jax.Array]) -> tuple[TrainState, jax.Array]:
        train, sums = carried
        drawing, updating = jax.random.split(jax.random.fold_in(key, place))
        batch = drawn(window, drawing, spec.batch, n_step=h["n_step"], discount=h["discount"])
        train, told = update(spec, train, seen_batch(spec, train, batch, h), h, updating)
        return train, sums + told

    due = jnp.maximum(due, 0)
    train, sums = jax.lax.fori_loop(0, due, learn, (train, row.stats.sums))
    finite = row.stats.finite * jnp.isfinite(jnp.sum(sums) + jnp.sum(trajectory.reward))
    return row._replace(train=train, new=new, stats=row.stats._replace(sums=sums, made=row.stats.made + due, finite=finite))


def _kept(spec: ReplaySpec, new: New, trajectory: Trajectory, start: jax.Array) -> New:
    """The rows of this turn with those of a rollout; the row after them has nothing but what is observed now."""
    flag = jnp.where(trajectory.ends > 0, jnp.where(trajectory.terminated > 0, TERMINATED, TIME_LIMIT), GOES_ON)
    flag = jnp.where(trajectory.valid > 0, flag, VOID)
    action = trajectory.action_outputs[..., : spec.exploring.width]
    facts = jnp.concatenate([action, trajectory.reward[..., None], flag[..., None]], axis=-1)
    ahead = jnp.zeros((1, *facts.shape[1:])).at[..., -1].set(VOID)
    facts = jnp.concatenate([facts, ahead])
    obs = trajectory.obs.reshape((spec.unroll + 1, spec.envs, *new.obs.shape[2:])).astype(new.obs.dtype)
    put = jax.lax.dynamic_update_slice_in_dim
    return New(put(new.obs, jnp.moveaxis(obs, 0, 1), start, 1), put(new.facts, jnp.moveaxis(facts, 0, 1), start, 1))


def _collect(
    spec: ReplaySpec, world: Copies, row: Row, h: Values, inputs: Inputs, key: jax.Array
) -> tuple[Trajectory, EnvStates, tuple[jax.Array, jax.Array, jax.Array]]:
    """One rollout in JAX environments, the environments after it, and ends, returns and lengths of episodes.

    As on the host, an environment is reset in the step after an episode's end; that step is void.
    """
    assert isinstance(row.envs, EnvStates)
    drawing, stepping = jax.random.split(key)
    policy = spec.explorer
    vector = explorer_weights(spec, row.train, h)
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
