"""PPO's update (Schulman et al. 2017): advantages by GAE, then epochs of clipped minibatch steps with Adam."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit import adam, networks
from evolute.learners.kit.adam import AdamState
from evolute.learners.kit.weights import Weights
from evolute.learners.ppo.augment import augmented
from evolute.learners.ppo.estimates import estimated
from evolute.learners.ppo.loss import LOSSES, Predictions, loss, reported
from evolute.learners.ppo.minibatches import Batch, Minibatch, batch_of, coprimes, gathered, row_shape, step_data
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState

Carried = tuple[AdamState, jax.Array]
"""What goes from minibatch to minibatch: Adam's state, and the sums of `LOSSES` by row."""
Pair = TypeVar("Pair")


def improve(
    spec: PPOSpec,
    train: TrainState,
    rollout: Rollout,
    last_value: jax.Array,
    memory: jax.Array,
    h: Traced,
    key: jax.Array,
    teacher: Any = (),
) -> tuple[TrainState, jax.Array]:
    """A member's train state after one rollout, and the means of `LOSSES`.

    `memory` is that before the rollout, `teacher` are the targets of a teacher [time, env, column], if there is one.
    """
    left = jnp.where(h.anneal > 0, jnp.maximum(1 - train.steps / jnp.maximum(h.anneal, 1), 0), 1)
    batch = batch_of(spec, train, rollout, estimated(spec, rollout, last_value, h), memory, h)
    if spec.teacher is not None:
        batch = batch._replace(teacher=teacher.reshape((spec.batch, -1)))
    state, losses = _learn(spec, train.adam, batch, h, h.lr * left, key)
    return train._replace(adam=state, steps=train.steps + spec.batch), losses


def _learn(
    spec: PPOSpec, state: AdamState, batch: Batch, h: Traced, lr: jax.Array, key: jax.Array
) -> tuple[AdamState, jax.Array]:
    rows = batch.obs.shape[0]
    multipliers = jnp.asarray(coprimes(rows))
    draws = jax.random.bits(key, (2,))

    def epoch(number: jax.Array, carried: Carried) -> Carried:
        turned = number.astype(jnp.uint32)
        multiplier = multipliers[(draws[0] + turned) % len(multipliers)]
        shift = (draws[1] + turned * 40503) % rows
        order = ((multiplier * jnp.arange(rows, dtype=jnp.uint32) + shift) % rows).reshape((spec.minibatches, -1))
        rates = adam.rates(lr, carried[0].count + jnp.arange(spec.minibatches))
        taught = () if spec.teacher is None else jnp.swapaxes(batch.teacher[order], 1, 2)
        return jax.lax.scan(step, carried, Minibatch(order, *gathered(spec, batch, order, h), *rates, taught))[0]

    def step(carried: Carried, minibatch: Minibatch) -> tuple[Carried, None]:
        state, sums = carried
        augmenting = jax.random.fold_in(key, state.count)
        predictions, backward = _predictions_and_vjp(spec, state.weights, batch, minibatch, h, augmenting)

        def judged(carried: tuple[Predictions, jax.Array]) -> tuple[Predictions, jax.Array]:
            gradients, losses = jax.grad(loss, has_aux=True)(carried[0], spec, minibatch, h)
            return gradients, carried[1] + losses

        gradients, sums = _as_one(judged, (predictions, sums), state.count)
        gradient = backward(gradients)
        state = adam.step(state, gradient, minibatch.rate, minibatch.root, eps=h.adam_eps, max_norm=h.max_grad_norm)
        return (state, sums), None

    names = reported(spec)
    blank = jnp.zeros((len(names), *row_shape(spec)))
    epochs = h.epochs.astype(jnp.int32)
    state, sums = jax.lax.fori_loop(0, epochs, epoch, (state, blank))
    means = jnp.sum(sums.reshape((len(names), -1)), axis=1) / (h.epochs * spec.minibatches)
    return state, jnp.zeros(len(LOSSES)).at[np.array([LOSSES.index(name) for name in names])].set(means)


def _as_one(function: Callable[[Pair], Pair], carried: Pair, count: jax.Array) -> Pair:
    """`function(carried)`. On CPUs XLA makes one function of a loop over little data, which saves the calls of its many
    small operations; this one goes round once, which XLA cannot know as long as `count`, which is not negative, is a value."""
    if jax.default_backend() != "cpu":
        return function(carried)
    after: Pair = jax.lax.fori_loop(0, jnp.minimum(count, 0) + 1, lambda _, carried: function(carried), carried)
    return after


def _predictions_and_vjp(
    spec: PPOSpec, weights: jax.Array, batch: Batch, minibatch: Minibatch, h: Traced, key: jax.Array
) -> tuple[Predictions, Callable[[Predictions], jax.Array]]:
    """The predictions for a minibatch, and a function from their gradients to the gradient of the weight vector."""
    if spec.native:
        from evolute.learners.kit.native import dense  # needs llvmlite, an extra

        predictions, vjp = jax.vjp(
            lambda weights: Predictions(*dense.predict_twins(spec.network, weights, minibatch.obs)), weights
        )
        return predictions, lambda gradients: vjp(gradients)[0]
    parts = networks.grouped(spec.network, weights)

    def predicted(parts: dict[str, jax.Array]) -> Predictions:
        return predict(spec, networks.effective(spec.network, parts), batch, minibatch, h, key)

    predictions, vjp = jax.vjp(predicted, parts)

    def backward(gradients: Predictions) -> jax.Array:
        by_name = vjp(gradients)[0]
        return jnp.concatenate([by_name[name].ravel() for name in parts])

    return predictions, backward


def predict(spec: PPOSpec, weights: Weights, batch: Batch, minibatch: Minibatch, h: Traced, key: jax.Array) -> Predictions:
    """What networks with `grouped` weights predict for a minibatch, and for its augmented images if there are any."""
    first = step_data(spec, minibatch.data).first
    spread = {name: weights[name] for name in ("log_std",) if name in weights}
    predictions = Predictions(*_outputs(spec, weights, batch, minibatch, first), spread)
    if not spec.augmented:
        return predictions
    obs = augmented(h.augmentation, key, batch.obs[minibatch.order])
    outputs, value, _ = networks.both(spec.network, weights, obs, batch.memory)
    return predictions._replace(augmented=_leading(spec, outputs, value))


def _outputs(
    spec: PPOSpec, weights: Weights, batch: Batch, minibatch: Minibatch, first: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The policy's outputs [output, (time,) row] and the values [(channel,) (time,) row]."""
    if spec.network.twin:
        return networks.twins(spec.network, weights, minibatch.obs)
    obs = batch.obs[minibatch.order]
    if spec.network.memory:
        obs = jnp.swapaxes(obs, 0, 1)
        outputs, value = networks.along(spec.network, weights, obs, first, batch.memory[minibatch.order])
    else:
        outputs, value, _ = networks.both(spec.network, weights, obs, batch.memory)
    return _leading(spec, outputs, value)


def _leading(spec: PPOSpec, outputs: jax.Array, value: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Outputs and values with their last axis, if they have one of their own, first."""
    return jnp.moveaxis(outputs, -1, 0), jnp.moveaxis(value, -1, 0) if spec.channels else value
