"""PPO's update after a rollout on the host, as a function of one member."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, networks, teaching
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.kit.weights import Weights
from evolute.learners.ppo import teacher
from evolute.learners.ppo.rollout import Rollout, discounts_over, normalised
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState
from evolute.learners.ppo.update import improve


class Row(NamedTuple):
    """A member during a turn: its train state, its running discounted returns [env(, channel)], and sums of losses."""

    train: TrainState
    discounted: Any
    losses: Any
    finite: Any


class Inputs(NamedTuple):
    """What one member's update is given: its key's data, its settings, the updates of its turn, its rollout, its teacher."""

    key: Any
    hparams: Traced
    updates: Any
    trajectory: Trajectory
    teacher: TeacherInputs | tuple[()] = ()


def update(spec: PPOSpec, row: Row, inputs: Inputs, number: jax.Array) -> Row:
    """One member's update after its rollout of this number; one whose turn is over stays as it is."""
    after: Row = jax.lax.cond(number < inputs.updates, lambda: _updated(spec, row, inputs, number), lambda: row)
    return after


def _updated(spec: PPOSpec, row: Row, inputs: Inputs, number: jax.Array) -> Row:
    trajectory, h = inputs.trajectory, inputs.hparams
    rollout, value = rollout_of(spec, row.train, trajectory, h)
    train, rollout, discounted = normalised(spec, row.train, rollout, row.discounted, h)
    key = jax.random.fold_in(jax.random.wrap_key_data(inputs.key), -1 - number)
    targets: Any = ()
    if spec.teacher is not None and isinstance(inputs.teacher, TeacherInputs):
        h = h._replace(teacher_weight=teaching.weight(inputs.teacher, number, inputs.updates))
        targets = teacher.targets(spec.teacher, inputs.teacher, trajectory.obs[:-1], rollout.action)
    train, losses = improve(spec, train, rollout, value[-1], trajectory.memory, h, key, targets)
    return Row(train, discounted, row.losses + losses, row.finite * jnp.isfinite(jnp.sum(value)))


def rollout_of(spec: PPOSpec, train: TrainState, trajectory: Trajectory, h: Traced) -> tuple[Rollout, jax.Array]:
    """A member's rollout, and the values of all its observations [time + 1, env]."""
    weights = networks.unpacked(spec.network, train.adam.weights)
    value = _values(spec, train, weights, trajectory, h)
    width = spec.actions.width
    rollout = Rollout(
        trajectory.obs[:-1],
        trajectory.action_outputs[..., :width],
        () if spec.lagged else trajectory.action_outputs[..., width:],
        value[:-1],
        trajectory.reward,
        jnp.zeros_like(trajectory.reward),
        1 - trajectory.terminated,
        trajectory.ends,
        trajectory.first[:-1],
        trajectory.valid,
    )
    if spec.discount_per is not None:
        rollout = rollout._replace(discount=discounts_over(trajectory.elapsed, spec.discount_per, h))
    if spec.lagged:
        recorded = trajectory.action_outputs[..., width]
        log_ratio = _log_prob(spec, train, weights, trajectory, h) - recorded
        rollout = rollout._replace(log_prob=recorded, log_ratio=log_ratio)
    return rollout, value


def _log_prob(spec: PPOSpec, train: TrainState, weights: Weights, trajectory: Trajectory, h: Traced) -> jax.Array:
    """The log-probabilities of all actions by the policy that is learning, [time, env]."""
    obs = trajectory.obs[:-1]
    grid = obs.shape[:2]
    flat = obs.reshape((-1, *obs.shape[2:]))
    seen = acting.preprocessing(spec.policy, train.obs, h.normalize_obs)(flat)
    if spec.network.memory:
        seen = seen.reshape((*grid, *seen.shape[1:]))
        outputs, _ = networks.along(spec.network, weights, seen, trajectory.first[:-1], trajectory.memory)
    else:
        memory = jnp.zeros((flat.shape[0], spec.network.units))
        outputs = networks.policy(spec.network, weights, seen, memory)[0].reshape((*grid, -1))
    action = trajectory.action_outputs[..., : spec.actions.width]
    return spec.actions.log_prob_and_entropy(weights, jnp.moveaxis(outputs, -1, 0), jnp.moveaxis(action, -1, 0))[0]


def _values(spec: PPOSpec, train: TrainState, weights: Weights, trajectory: Trajectory, h: Traced) -> jax.Array:
    """The values of all observations, [time + 1, env(, channel)]."""
    grid = trajectory.obs.shape[:2]
    flat = trajectory.obs.reshape((-1, *trajectory.obs.shape[2:]))
    seen = acting.preprocessing(spec.policy, train.obs, h.normalize_obs)(flat)
    if spec.network.memory:
        seen = seen.reshape((*grid, *seen.shape[1:]))
        return networks.along(spec.network, weights, seen, trajectory.first, trajectory.memory)[1]
    memory = jnp.zeros((flat.shape[0], spec.network.units))
    values = networks.value(spec.network, weights, seen, memory)
    return values.reshape((*grid, *values.shape[1:]))
