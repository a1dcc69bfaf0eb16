"""PPO's update (Schulman et al. 2017): advantages by GAE, then epochs of clipped minibatch steps with Adam."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit import networks
from evolute.learners.kit.native import dense
from evolute.learners.ppo.augment import augmented
from evolute.learners.ppo.model import Learnt, Model, Optimiser, Rollout
from evolute.learners.ppo.settings import Traced

BETAS = (0.9, 0.999)
SHUFFLES = 64
LOSSES = ("policy_loss", "value_loss", "entropy", "kl", "clipped", "consistency")
"""The last one is DrAC's, and zero without it."""
TINY = 1e-8
Carried = tuple[Optimiser, jax.Array]
Pair = TypeVar("Pair")


class Table(NamedTuple):
    """A rollout as rows to draw minibatches from: steps, or whole envs [env, time, …] for networks with memory.

    The last axis of `facts` holds the action and then what `Facts` names.
    """

    obs: jax.Array
    facts: jax.Array
    memory: jax.Array


class Facts(NamedTuple):
    """What is known of each step of a minibatch, besides its observation and action."""

    log_prob: jax.Array
    value: jax.Array
    target: jax.Array
    valid: jax.Array
    first: jax.Array
    advantage: jax.Array


class Draw(NamedTuple):
    """One minibatch: the rows it takes, for twins their observations [feature, row], and its facts [fact, (time,) row];
    and Adam's rates in this step."""

    order: jax.Array
    obs: jax.Array
    facts: jax.Array
    rate: jax.Array
    root: jax.Array


class Said(NamedTuple):
    """What the networks say of a minibatch: outputs [output, (time,) row] and values [(time,) row], `again` of its augmented
    images, if it has any; and what else of the weights the loss depends on."""

    outputs: jax.Array
    value: jax.Array
    spread: dict[str, jax.Array]
    again: tuple[jax.Array, jax.Array] | None = None


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
    weights = networks.grouped(model.network, learnt.optimiser.weights)
    outputs, action = jnp.moveaxis(rollout.outputs, -1, 0), jnp.moveaxis(rollout.action, -1, 0)
    log_prob, _ = model.actions.log_prob_and_entropy(weights, outputs, action)
    known = Facts(log_prob, rollout.value, advantage + rollout.value, rollout.valid, rollout.first, advantage)
    facts = jnp.concatenate([rollout.action, jnp.stack(known, axis=-1)], axis=-1)
    if model.network.memory:
        return Table(jnp.swapaxes(rollout.obs, 0, 1), jnp.swapaxes(facts, 0, 1), memory)
    obs, facts = (x.reshape((model.batch, *x.shape[2:])) for x in (rollout.obs, facts))
    return Table(obs, facts, memory)


def _learn(
    model: Model, optimiser: Optimiser, table: Table, h: Traced, lr: jax.Array, key: jax.Array
) -> tuple[Optimiser, jax.Array]:
    rows = table.obs.shape[0]
    multipliers = jnp.asarray(coprimes(rows))
    draws = jax.random.bits(key, (2,))

    def epoch(number: jax.Array, carried: Carried) -> Carried:
        turned = number.astype(jnp.uint32)
        multiplier = multipliers[(draws[0] + turned) % len(multipliers)]
        shift = (draws[1] + turned * 40503) % rows
        order = ((multiplier * jnp.arange(rows, dtype=jnp.uint32) + shift) % rows).reshape((model.minibatches, -1))
        drawn = Draw(order, *_drawn(model, table, order, h), *_rates(lr, carried[0].count + jnp.arange(model.minibatches)))
        return jax.lax.scan(minibatch, carried, drawn)[0]

    def minibatch(carried: Carried, draw: Draw) -> tuple[Carried, None]:
        optimiser, sums = carried
        chance = jax.random.fold_in(key, optimiser.count)
        said, back = _said_and_back(model, optimiser.weights, table, draw, h, chance)

        def judged(carried: tuple[Said, jax.Array]) -> tuple[Said, jax.Array]:
            slopes, losses = jax.grad(_loss, has_aux=True)(carried[0], model, draw, h)
            return slopes, carried[1] + losses

        slopes, sums = _as_one(judged, (said, sums), optimiser.count)
        return (_adam(optimiser, back(slopes), draw, h), sums), None

    told = len(LOSSES) if model.augmented else len(LOSSES) - 1
    blank = jnp.zeros((told, *_rows(model)))
    epochs = h.epochs.astype(jnp.int32)
    optimiser, sums = jax.lax.fori_loop(0, epochs, epoch, (optimiser, blank))
    means = jnp.sum(sums.reshape((told, -1)), axis=1) / (h.epochs * model.minibatches)
    return optimiser, jnp.pad(means, (0, len(LOSSES) - told))


def _rows(model: Model) -> tuple[int, ...]:
    """The shape of one fact in a minibatch: steps, or times of several envs."""
    memory = model.network.memory
    return (model.unroll, model.envs // model.minibatches) if memory else (model.batch // model.minibatches,)


def _drawn(model: Model, table: Table, order: jax.Array, h: Traced) -> tuple[jax.Array, jax.Array]:
    """For each minibatch its observations, if all are to be looked up at once, and its facts, the advantages centred."""
    obs = jnp.swapaxes(table.obs[order], 1, 2) if model.network.twin else order
    facts = jnp.moveaxis(table.facts[order], -1, 1)
    if model.network.memory:
        facts = jnp.swapaxes(facts, 2, 3)
    return obs, jnp.concatenate([facts[:, :-1], _centred(model, facts, h)[:, None]], axis=1)


def _centred(model: Model, facts: jax.Array, h: Traced) -> jax.Array:
    """The advantages of each minibatch [minibatch, …], with mean 0 and deviation 1 if that is asked for."""
    known = Facts(*(facts[:, model.actions.width + place] for place in range(len(Facts._fields))))
    advantage, valid = known.advantage, known.valid if model.masked else jnp.ones_like(known.valid)
    axes = tuple(range(1, advantage.ndim))
    number = jnp.maximum(jnp.sum(valid, axis=axes, keepdims=True), 1)
    mean = jnp.sum(advantage * valid, axis=axes, keepdims=True) / number
    variance = jnp.sum(jnp.square(advantage - mean) * valid, axis=axes, keepdims=True) / number
    return jnp.where(h.normalize_advantage > 0, (advantage - mean) / (jnp.sqrt(variance) + TINY), advantage)


def _as_one(function: Callable[[Pair], Pair], carried: Pair, count: jax.Array) -> Pair:
    """`function(carried)`. On CPUs XLA makes one function of a loop over little data, which saves the calls of its many
    small operations; this one goes round once, which XLA cannot know as long as `count`, which is not negative, is a value."""
    if jax.default_backend() != "cpu":
        return function(carried)
    made: Pair = jax.lax.fori_loop(0, jnp.minimum(count, 0) + 1, lambda _, carried: function(carried), carried)
    return made


def _said_and_back(
    model: Model, weights: jax.Array, table: Table, draw: Draw, h: Traced, key: jax.Array
) -> tuple[Said, Callable[[Said], jax.Array]]:
    """What the networks say of a minibatch, and the way from its slopes to the slope of the weight vector."""
    if dense.able(model.network):
        said, back = jax.vjp(lambda weights: Said(*dense.said(model.network, weights, draw.obs)), weights)
        return said, lambda slopes: back(slopes)[0]
    parts = networks.grouped(model.network, weights)
    said, back = jax.vjp(lambda parts: _said(model, parts, table, draw, h, key), parts)

    def joined(slopes: Said) -> jax.Array:
        by_name = back(slopes)[0]
        return jnp.concatenate([by_name[name].ravel() for name in parts])

    return said, joined


def _said(model: Model, weights: networks.Weights, table: Table, draw: Draw, h: Traced, key: jax.Array) -> Said:
    first = Facts(*draw.facts[model.actions.width :]).first
    spread = {name: weights[name] for name in ("log_std",) if name in weights}
    said = Said(*_outputs(model, weights, table, draw, first), spread)
    if not model.augmented:
        return said
    obs = augmented(h.augmentation, key, table.obs[draw.order])
    others, other, _ = networks.both(model.network, weights, obs, table.memory)
    return said._replace(again=(jnp.moveaxis(others, -1, 0), other))


def _loss(said: Said, model: Model, draw: Draw, h: Traced) -> tuple[jax.Array, jax.Array]:
    """PPO's loss, with DrAC's if images are augmented, and the share of each row in each of `LOSSES`."""
    width = model.actions.width
    action, known = draw.facts[:width], Facts(*draw.facts[width:])
    log_prob, entropy = model.actions.log_prob_and_entropy(said.spread, said.outputs, action)
    log_ratio = log_prob - known.log_prob
    ratio = jnp.exp(log_ratio)
    free, held = ratio * known.advantage, jnp.clip(ratio, 1 - h.clip, 1 + h.clip) * known.advantage
    gain = jnp.where(free <= held, free, jax.lax.stop_gradient(held))
    near = known.value + jnp.clip(said.value - known.value, -h.value_clip, h.value_clip)
    error = jnp.square(said.value - known.target)
    error = jnp.where(h.value_clip > 0, jnp.maximum(error, jnp.square(near - known.target)), error)
    clipped = (jnp.abs(ratio - 1) > h.clip).astype(jnp.float32)
    share = known.valid / jnp.maximum(jnp.sum(known.valid), 1) if model.masked else 1 / math.prod(gain.shape)
    each = 0.5 * h.value_weight * error - gain - h.entropy * entropy
    told = [-gain, 0.5 * error, entropy, ratio - 1 - log_ratio, clipped]
    if said.again is not None:
        apart = _inconsistency(model, said, *said.again)
        each, told = each + h.augmentation_weight * apart, [*told, apart]
    return jnp.sum(each * share), jnp.stack(told) * share


def _inconsistency(model: Model, said: Said, others: jax.Array, other: jax.Array) -> jax.Array:
    """How far policy and value are, for each augmented image, from what they say of the original, which is the aim.

    This is G_pi + G_V in equations 4 and 5 of DrAC (Raileanu et al. 2021).
    """
    outputs, value = jax.lax.stop_gradient((said.outputs, said.value))
    return model.actions.divergence(said.spread, outputs, others) + jnp.square(other - value)


def _outputs(
    model: Model, weights: networks.Weights, table: Table, draw: Draw, first: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The policy's outputs [output, (time,) row] and the values [(time,) row]."""
    if model.network.twin:
        return networks.twins(model.network, weights, draw.obs)
    obs = table.obs[draw.order]
    if model.network.memory:
        outputs, value = networks.along(model.network, weights, jnp.swapaxes(obs, 0, 1), first, table.memory[draw.order])
    else:
        outputs, value, _ = networks.both(model.network, weights, obs, table.memory)
    return jnp.moveaxis(outputs, -1, 0), value


def _rates(lr: jax.Array, counts: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Adam's learning rate, and the factor of its root, in the steps after so many."""
    steps = (counts + 1).astype(jnp.float32)
    return lr / (1 - BETAS[0] ** steps), jax.lax.rsqrt(1 - BETAS[1] ** steps)


def _adam(optimiser: Optimiser, slope: jax.Array, draw: Draw, h: Traced) -> Optimiser:
    """Adam (Kingma & Ba 2015) on the whole weight vector, the length of its gradient limited."""
    length = jnp.sqrt(jnp.sum(jnp.square(slope)))
    slope = slope * jnp.minimum(1.0, h.max_grad_norm / (length + 1e-6))
    mean = BETAS[0] * optimiser.mean + (1 - BETAS[0]) * slope
    square = BETAS[1] * optimiser.square + (1 - BETAS[1]) * jnp.square(slope)
    weights = optimiser.weights - draw.rate * mean / (jnp.sqrt(square) * draw.root + h.adam_eps)
    return Optimiser(weights, mean, square, optimiser.count + 1)


def coprimes(number: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Multipliers that turn 0 … number-1 into a permutation, spread over the range, for an affine shuffle in 32 bits."""
    rng = np.random.default_rng(number)
    below = max(2, min(number, 2**32 // number - 1))
    found: list[int] = []
    while len(found) < SHUFFLES:
        drawn = int(rng.integers(1, below))
        if math.gcd(drawn, number) == 1:
            found.append(drawn)
    return np.array(found, np.uint32)
