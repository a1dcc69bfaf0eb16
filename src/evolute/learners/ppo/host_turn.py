"""PPO's update after a rollout on the host, as a function of one member."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, networks
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.weights import Weights
from evolute.learners.ppo import teacher
from evolute.learners.ppo.rollout import Rollout, normalised
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.teacher import TeacherInputs
from evolute.learners.ppo.train_state import TrainState
from evolute.learners.ppo.update import improve


class Row(NamedTuple):
    """A member during a turn: its train state, its running discounted returns [env], and sums of losses."""

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
    weights = networks.unpacked(spec.network, row.train.adam.weights)
    value = _values(spec, row.train, weights, trajectory, h)
    width = spec.actions.width
    rollout = Rollout(
        trajectory.obs[:-1],
        trajectory.action_outputs[..., :width],
        trajectory.action_outputs[..., width:],
        value[:-1],
        trajectory.reward,
        jnp.zeros_like(trajectory.reward),
        1 - trajectory.terminated,
        trajectory.ends,
        trajectory.first[:-1],
        trajectory.valid,
    )
    train, rollout, discounted = normalised(spec, row.train, rollout, row.discounted, h)
    key = jax.random.fold_in(jax.random.wrap_key_data(inputs.key), -1 - number)
    targets: Any = ()
    if spec.teacher is not None and isinstance(inputs.teacher, TeacherInputs):
        h = h._replace(teacher_weight=teacher.weight(inputs.teacher, number, inputs.updates))
        targets = teacher.targets(spec.teacher, inputs.teacher, trajectory.obs[:-1], rollout.action)
    train, losses = improve(spec, train, rollout, value[-1], trajectory.memory, h, key, targets)
    return Row(train, discounted, row.losses + losses, row.finite * jnp.isfinite(jnp.sum(value)))


def _values(spec: PPOSpec, train: TrainState, weights: Weights, trajectory: Trajectory, h: Traced) -> jax.Array:
    """The values of all observations, [time + 1, env]."""
    grid = trajectory.obs.shape[:2]
    flat = trajectory.obs.reshape((-1, *trajectory.obs.shape[2:]))
    seen = acting.preprocessing(spec.policy, train.obs, h.normalize_obs)(flat)
    if spec.network.memory:
        seen = seen.reshape((*grid, *seen.shape[1:]))
        return networks.along(spec.network, weights, seen, trajectory.first, trajectory.memory)[1]
    memory = jnp.zeros((flat.shape[0], spec.network.units))
    return networks.value(spec.network, weights, seen, memory).reshape(grid)
