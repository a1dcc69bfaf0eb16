"""A rollout as a batch of rows, and the shuffled minibatches of an epoch."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit import networks
from evolute.learners.ppo.estimates import Estimates
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState

SHUFFLES = 64
TINY = 1e-8


class Batch(NamedTuple):
    """A rollout as rows to draw minibatches from: steps, or whole envs [env, time, …] for networks with memory.

    The last axis of `data` holds the action and then the fields of `StepData`; `teacher` are the targets of a teacher.
    """

    obs: jax.Array
    data: jax.Array
    memory: jax.Array
    teacher: Any = ()


class StepData(NamedTuple):
    """What the loss needs of each step, besides its observation and action. With reward channels there are a `value` and a
    `target` of each [channel, …]. `weight` stands before all others, if V-trace gave steps one."""

    log_prob: jax.Array
    value: jax.Array
    target: jax.Array
    valid: jax.Array
    first: jax.Array
    advantage: jax.Array
    weight: Any = ()


class Minibatch(NamedTuple):
    """The rows it takes, for twins their observations [feature, row], and its data [field, (time,) row]; and Adam's rates in
    this step."""

    order: jax.Array
    obs: jax.Array
    data: jax.Array
    rate: jax.Array
    root: jax.Array
    teacher: Any = ()
    """The targets of a teacher [column, row], if there is one."""


def batch_of(spec: PPOSpec, train: TrainState, rollout: Rollout, made: Estimates, memory: jax.Array, h: Traced) -> Batch:
    """A rollout as a batch, with its estimates; `memory` is that before it."""
    log_prob = rollout.log_prob if spec.lagged else _log_prob(spec, train, rollout)
    advantage = jnp.sum(made.advantage * h.channel_weights, axis=-1) if spec.channels else made.advantage
    fields = [log_prob, rollout.value, made.target, made.valid, rollout.first, advantage]
    if spec.estimate == "vtrace":
        fields = [made.weight, *fields]
    columns = [field[..., None] if field.ndim == advantage.ndim else field for field in fields]
    data = jnp.concatenate([rollout.action, *columns], axis=-1)
    if spec.network.memory:
        return Batch(jnp.swapaxes(rollout.obs, 0, 1), jnp.swapaxes(data, 0, 1), memory)
    obs, data = (x.reshape((spec.batch, *x.shape[2:])) for x in (rollout.obs, data))
    return Batch(obs, data, memory)


def _log_prob(spec: PPOSpec, train: TrainState, rollout: Rollout) -> jax.Array:
    """The log-probabilities of actions by the policy that is learning, which acted."""
    weights = networks.grouped(spec.network, train.adam.weights)
    outputs, action = jnp.moveaxis(rollout.outputs, -1, 0), jnp.moveaxis(rollout.action, -1, 0)
    return spec.actions.log_prob_and_entropy(weights, outputs, action)[0]


def step_data(spec: PPOSpec, data: jax.Array) -> StepData:
    """What stands behind the action in a minibatch's data [field, …]."""
    fields, channels = data[spec.actions.width :], len(spec.channels)
    weight: Any = ()
    if spec.estimate == "vtrace":
        weight, fields = fields[0], fields[1:]
    if not channels:
        return StepData(*fields)._replace(weight=weight)
    log_prob, value, target = fields[0], fields[1 : 1 + channels], fields[1 + channels : 1 + 2 * channels]
    return StepData(log_prob, value, target, *fields[1 + 2 * channels :])._replace(weight=weight)


def row_shape(spec: PPOSpec) -> tuple[int, ...]:
    """The shape of one field of a minibatch's data: steps, or times of several envs."""
    memory = spec.network.memory
    return (spec.unroll, spec.envs // spec.minibatches) if memory else (spec.batch // spec.minibatches,)


def gathered(spec: PPOSpec, batch: Batch, order: jax.Array, h: Traced) -> tuple[jax.Array, jax.Array]:
    """For each minibatch its observations, if all are to be looked up at once, and its data, the advantages normalised."""
    obs = jnp.swapaxes(batch.obs[order], 1, 2) if spec.network.twin else order
    data = jnp.moveaxis(batch.data[order], -1, 1)
    if spec.network.memory:
        data = jnp.swapaxes(data, 2, 3)
    return obs, jnp.concatenate([data[:, :-1], _normalised(spec, data, h)[:, None]], axis=1)


def _normalised(spec: PPOSpec, data: jax.Array, h: Traced) -> jax.Array:
    """The advantages of each minibatch [minibatch, …], with mean 0 and deviation 1 if that is asked for.

    Steps count by their weights, if they have any, so advantages are centred before they are weighted: what is learnt from has
    no bias towards all actions that were taken.
    """
    valid, _, advantage = (data[:, place] for place in (-3, -2, -1))  # as they stand in `StepData`
    valid = valid if spec.masked else jnp.ones_like(valid)
    if spec.estimate == "vtrace":
        valid = valid * data[:, spec.actions.width]
    axes = tuple(range(1, advantage.ndim))
    number = jnp.maximum(jnp.sum(valid, axis=axes, keepdims=True), TINY if spec.estimate == "vtrace" else 1)
    mean = jnp.sum(advantage * valid, axis=axes, keepdims=True) / number
    variance = jnp.sum(jnp.square(advantage - mean) * valid, axis=axes, keepdims=True) / number
    return jnp.where(h.normalize_advantage > 0, (advantage - mean) / (jnp.sqrt(variance) + TINY), advantage)


def coprimes(number: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Multipliers that turn 0 … number-1 into a permutation, spread over the range, for an affine shuffle in 32 bits."""
    rng = np.random.default_rng(number)
    below = max(2, min(number, 2**32 // number - 1))
    multipliers: list[int] = []
    while len(multipliers) < SHUFFLES:
        drawn = int(rng.integers(1, below))
        if math.gcd(drawn, number) == 1:
            multipliers.append(drawn)
    return np.array(multipliers, np.uint32)
