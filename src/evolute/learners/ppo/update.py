"""PPO's update (Schulman et al. 2017): advantages by GAE, then epochs of clipped minibatch steps with Adam."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.ppo import networks
from evolute.learners.ppo.model import Learnt, Model, Optimiser, Rollout
from evolute.learners.ppo.settings import Traced

BETAS = (0.9, 0.999)
SHUFFLES = 64
LOSSES = ("policy_loss", "value_loss", "entropy", "kl", "clipped")
TINY = 1e-8
Carried = tuple[Optimiser, jax.Array]


class Table(NamedTuple):
    """A rollout as rows to draw minibatches from: steps, or whole envs [env, time, …] for networks with memory.

    `facts` are the action, its log-probability, the old value, the target, validity and being an episode's first step.
    """

    obs: jax.Array
    facts: jax.Array
    advantage: jax.Array
    memory: jax.Array


def improve(
    model: Model, learnt: Learnt, rollout: Rollout, last_value: jax.Array, memory: jax.Array, h: Traced, key: jax.Array
) -> tuple[Learnt, jax.Array]:
    """What a member has learnt after one rollout, and the means of `LOSSES`. `memory` is that before the rollout."""
    left = jnp.where(h.anneal > 0, jnp.maximum(1 - learnt.steps / jnp.maximum(h.anneal, 1), 0), 1)
    table = _table(model, learnt, rollout, advantages(rollout, last_value, h), memory)
    optimiser, losses = _learn(model, learnt.optimiser, table, h, h.lr * left, key)
    return learnt._replace(optimiser=optimiser, steps=learnt.steps + model.batch), losses


def advantages(rollout: Rollout, last_value: jax.Array, h: Traced) -> jax.Array:
    """Generalised advantage estimation (Schulman et al. 2016): [time, env]."""
    following = jnp.concatenate([rollout.value[1:], last_value[None]])
    delta = rollout.reward + rollout.extra + h.discount * following * rollout.follows - rollout.value
    decay = h.discount * h.gae_lambda * (1 - rollout.ends)

    def back(after: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        here = now[0] + now[1] * after
        return here, here

    return jax.lax.scan(back, jnp.zeros_like(last_value), (delta, decay), reverse=True, unroll=8)[1]


def _table(model: Model, learnt: Learnt, rollout: Rollout, advantage: jax.Array, memory: jax.Array) -> Table:
    weights = networks.unpacked(model.network, learnt.optimiser.weights)
    log_prob, _ = model.actions.log_prob_and_entropy(weights, rollout.outputs, rollout.action)
    columns = (log_prob, rollout.value, advantage + rollout.value, rollout.valid, rollout.first)
    facts = jnp.concatenate([rollout.action, *(column[..., None] for column in columns)], axis=-1)
    if model.network.memory:
        return Table(*_swapped(rollout.obs, facts, advantage), memory)
    obs, facts, advantage = (x.reshape((model.batch, *x.shape[2:])) for x in (rollout.obs, facts, advantage))
    return Table(obs, facts, advantage, memory)


def _swapped(obs: jax.Array, facts: jax.Array, advantage: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """[time, env, …] as [env, time, …], or back."""
    return jnp.swapaxes(obs, 0, 1), jnp.swapaxes(facts, 0, 1), jnp.swapaxes(advantage, 0, 1)


def _learn(
    model: Model, optimiser: Optimiser, table: Table, h: Traced, lr: jax.Array, key: jax.Array
) -> tuple[Optimiser, jax.Array]:
    rows = table.obs.shape[0]
    size = rows // model.minibatches
    multipliers = jnp.asarray(coprimes(rows))
    draws = jax.random.bits(key, (2,))

    def epoch(number: jax.Array, carried: Carried) -> Carried:
        turned = number.astype(jnp.uint32)
        multiplier = multipliers[(draws[0] + turned) % len(multipliers)]
        shift = (draws[1] + turned * 40503) % rows
        order = (multiplier * jnp.arange(rows, dtype=jnp.uint32) + shift) % rows
        order = order.reshape(model.minibatches, size)
        return jax.lax.scan(minibatch, carried, (order, _centred(model, table, order, h)))[0]

    def minibatch(carried: Carried, now: tuple[jax.Array, jax.Array]) -> tuple[Carried, None]:
        optimiser, sums = carried
        order, advantage = now
        drawn = Table(
            table.obs[order], table.facts[order], advantage, table.memory[order] if model.network.memory else table.memory
        )
        slope, losses = jax.grad(_loss, argnums=1, has_aux=True)(model, optimiser.weights, drawn, h)
        return (_adam(optimiser, slope, lr, h), sums + losses), None

    epochs = h.epochs.astype(jnp.int32)
    optimiser, sums = jax.lax.fori_loop(0, epochs, epoch, (optimiser, jnp.zeros(len(LOSSES))))
    return optimiser, sums / (h.epochs * model.minibatches)


def _centred(model: Model, table: Table, order: jax.Array, h: Traced) -> jax.Array:
    """The advantages of each minibatch [minibatch, row, …], with mean 0 and deviation 1 if that is asked for."""
    advantage = table.advantage[order]
    valid = table.facts[..., -2][order] if model.masked else jnp.ones_like(advantage)
    axes = tuple(range(1, advantage.ndim))
    number = jnp.maximum(jnp.sum(valid, axis=axes, keepdims=True), 1)
    mean = jnp.sum(advantage * valid, axis=axes, keepdims=True) / number
    variance = jnp.sum(jnp.square(advantage - mean) * valid, axis=axes, keepdims=True) / number
    return jnp.where(h.normalize_advantage > 0, (advantage - mean) / (jnp.sqrt(variance) + TINY), advantage)


def _loss(model: Model, vector: jax.Array, drawn: Table, h: Traced) -> tuple[jax.Array, jax.Array]:
    weights = networks.unpacked(model.network, vector)
    width = model.actions.width
    if model.network.memory:
        drawn = Table(*_swapped(drawn.obs, drawn.facts, drawn.advantage), drawn.memory)
        outputs, value = networks.along(model.network, weights, drawn.obs, drawn.facts[..., -1], drawn.memory)
    else:
        outputs, value, _ = networks.both(model.network, weights, drawn.obs, drawn.memory)
    old_log_prob, old_value, target, valid = (drawn.facts[..., width + place] for place in range(4))
    log_prob, entropy = model.actions.log_prob_and_entropy(weights, outputs, drawn.facts[..., :width])
    log_ratio = log_prob - old_log_prob
    ratio = jnp.exp(log_ratio)
    gain = jnp.minimum(ratio * drawn.advantage, jnp.clip(ratio, 1 - h.clip, 1 + h.clip) * drawn.advantage)
    near = old_value + jnp.clip(value - old_value, -h.value_clip, h.value_clip)
    error = jnp.square(value - target)
    error = jnp.where(h.value_clip > 0, jnp.maximum(error, jnp.square(near - target)), error)
    clipped = (jnp.abs(ratio - 1) > h.clip).astype(jnp.float32)
    terms = jnp.stack([-gain, 0.5 * error, entropy, ratio - 1 - log_ratio, clipped]).reshape(len(LOSSES), -1)
    means = _mean(terms, valid.ravel()) if model.masked else jnp.mean(terms, axis=1)
    return means[0] + h.value_weight * means[1] - h.entropy * means[2], means


def _mean(terms: jax.Array, valid: jax.Array) -> jax.Array:
    return jnp.sum(terms * valid, axis=1) / jnp.maximum(jnp.sum(valid), 1)


def _adam(optimiser: Optimiser, slope: jax.Array, lr: jax.Array, h: Traced) -> Optimiser:
    """Adam (Kingma & Ba 2015) on the whole weight vector, the length of its gradient limited."""
    length = jnp.sqrt(jnp.sum(jnp.square(slope)))
    slope = slope * jnp.minimum(1.0, h.max_grad_norm / (length + 1e-6))
    count = optimiser.count + 1
    mean = BETAS[0] * optimiser.mean + (1 - BETAS[0]) * slope
    square = BETAS[1] * optimiser.square + (1 - BETAS[1]) * jnp.square(slope)
    rate = lr / (1 - BETAS[0] ** count.astype(jnp.float32))
    root = jax.lax.rsqrt(1 - BETAS[1] ** count.astype(jnp.float32))
    weights = optimiser.weights - rate * mean / (jnp.sqrt(square) * root + h.adam_eps)
    return Optimiser(weights, mean, square, count)


def coprimes(number: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Multipliers that turn 0 … number-1 into a permutation, spread over the range, for an affine shuffle."""
    rng = np.random.default_rng(number)
    found: list[int] = []
    while len(found) < SHUFFLES:
        drawn = int(rng.integers(1, max(number, 2)))
        if math.gcd(drawn, number) == 1:
            found.append(drawn)
    return np.array(found, np.uint32)
