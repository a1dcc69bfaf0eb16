"""PPO's clipped loss (Schulman et al. 2017) or that of the policy gradient, and DrAC's where images are augmented."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.ppo import teacher
from evolute.learners.ppo.minibatches import Minibatch, StepData, step_data
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec

LOSSES = ("policy_loss", "value_loss", "entropy", "kl", "clipped", "consistency", "teacher_kl")
"""The last ones are DrAC's and the teacher's, and zero without them."""


class Predictions(NamedTuple):
    """What the networks predict for a minibatch: outputs [output, (time,) row] and values [(channel,) (time,) row];
    `augmented` are those for its augmented images, if it has any; `spread` is what else of the weights the loss depends on."""

    outputs: jax.Array
    value: jax.Array
    spread: dict[str, jax.Array]
    augmented: tuple[jax.Array, jax.Array] | None = None


def loss(predictions: Predictions, spec: PPOSpec, minibatch: Minibatch, h: Traced) -> tuple[jax.Array, jax.Array]:
    """The loss of a minibatch, and the share of each row in each of `LOSSES`."""
    width = spec.actions.width
    action, data = minibatch.data[:width], step_data(spec, minibatch.data)
    log_prob, entropy = spec.actions.log_prob_and_entropy(predictions.spread, predictions.outputs, action)
    log_ratio = log_prob - data.log_prob
    ratio = jnp.exp(log_ratio)
    gain = _clipped_gain(data, ratio, h) if spec.objective == "clip" else _gain(data, log_prob)
    near = data.value + jnp.clip(predictions.value - data.value, -h.value_clip, h.value_clip)
    error = jnp.square(predictions.value - data.target)
    error = _over_channels(spec, jnp.where(h.value_clip > 0, jnp.maximum(error, jnp.square(near - data.target)), error))
    clipped = (jnp.abs(ratio - 1) > h.clip).astype(jnp.float32)
    share = data.valid / jnp.maximum(jnp.sum(data.valid), 1) if spec.masked else 1 / math.prod(gain.shape)
    each = 0.5 * h.value_weight * error - gain - h.entropy * entropy
    parts = {
        "policy_loss": -gain,
        "value_loss": 0.5 * error,
        "entropy": entropy,
        "kl": ratio - 1 - log_ratio,
        "clipped": clipped,
    }
    if predictions.augmented is not None:
        apart = inconsistency(spec, predictions, *predictions.augmented)
        each, parts["consistency"] = each + h.augmentation_weight * apart, apart
    if spec.teacher is not None:
        student = spec.actions.parameters(predictions.spread, predictions.outputs, action)
        divergence, distance = teacher.distances(spec.teacher, spec.actions, minibatch.teacher, student, predictions.value)
        each, parts["teacher_kl"] = each + h.teacher_weight * distance, divergence
    return jnp.sum(each * share), jnp.stack([parts[name] for name in reported(spec)]) * share


def _clipped_gain(data: StepData, ratio: jax.Array, h: Traced) -> jax.Array:
    """What PPO maximises. `ratio` is to the policy that acted, so a lagging one is clipped around."""
    free, held = ratio * data.advantage, jnp.clip(ratio, 1 - h.clip, 1 + h.clip) * data.advantage
    return jnp.where(free <= held, free, jax.lax.stop_gradient(held))


def _gain(data: StepData, log_prob: jax.Array) -> jax.Array:
    """What the policy gradient maximises (Mnih et al. 2016; with V-trace's weights, Espeholt et al. 2018)."""
    advantage = data.advantage if isinstance(data.weight, tuple) else data.weight * data.advantage
    return advantage * log_prob


def inconsistency(spec: PPOSpec, predictions: Predictions, outputs: jax.Array, value: jax.Array) -> jax.Array:
    """How far policy and value of each augmented image are from those of the original, which is the target.

    This is G_pi + G_V in equations 4 and 5 of DrAC (Raileanu et al. 2021).
    """
    targets, target = jax.lax.stop_gradient((predictions.outputs, predictions.value))
    apart = _over_channels(spec, jnp.square(value - target))
    one, other = (spec.actions.parameters(predictions.spread, some, some) for some in (targets, outputs))
    return spec.actions.divergence(one, other) + apart


def reported(spec: PPOSpec) -> tuple[str, ...]:
    """Those of `LOSSES` that there are. A single step of the policy that acted stays where it is, so has no divergence."""
    single = spec.objective == "gradient"
    absent = {
        "value_loss": spec.estimate == "returns",
        "kl": single and not spec.lagged,
        "clipped": single,
        "consistency": not spec.augmented,
        "teacher_kl": spec.teacher is None,
    }
    return tuple(name for name in LOSSES if not absent.get(name, False))


def _over_channels(spec: PPOSpec, errors: jax.Array) -> jax.Array:
    """Errors of values [(channel,) …], summed over the channels."""
    return jnp.sum(errors, axis=0) if spec.channels else errors
