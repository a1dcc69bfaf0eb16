"""One update of each algorithm: what a minibatch makes of a train state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, adam, layers, networks, torsos, weights
from evolute.learners.kit.adam import AdamState
from evolute.learners.kit.weights import Weights
from evolute.learners.offpolicy import teacher
from evolute.learners.offpolicy.exploring import log_prob
from evolute.learners.offpolicy.spec import CRITICS, ReplaySpec
from evolute.learners.offpolicy.train_state import TrainState, folded
from evolute.learners.offpolicy.window import Batch

Values = Mapping[str, jax.Array]
"""Settings by name."""
Update = Callable[[ReplaySpec, TrainState, Batch, Values, jax.Array], tuple[TrainState, jax.Array]]
METRICS = ("critic_loss", "actor_loss", "q", "alpha", "entropy", "teacher_distance")
"""What an update reports."""
ADAM_EPS = 1e-8
MAX_NORM = 10.0
"""The global gradient-norm clip of DQN."""
NEVER = 1e6
"""An error that does not occur, from which a squared loss would be linear."""


def sac(spec: ReplaySpec, train: TrainState, batch: Batch, h: Values, key: jax.Array) -> tuple[TrainState, jax.Array]:
    """Soft actor-critic (Haarnoja et al. 2018) with twin critics; the temperature is learnt unless it is given."""
    now, then = jax.random.split(key)
    shape = (len(batch.reward), spec.exploring.width)
    alpha = jnp.where(h["alpha"] > 0, h["alpha"], jnp.exp(train.alpha.weights[0]))
    next_action, next_log = log_prob(_outputs(spec, train.actor.weights, batch.after), jax.random.normal(then, shape))
    best = jnp.min(_twins(spec, train.targets, batch.after, next_action), axis=0)
    target = batch.reward + batch.discount * (best - alpha * next_log)
    critic, critic_loss, q = _critics(spec, train.critic, batch, target, h)
    noise = jax.random.normal(now, shape)

    def loss(vector: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        outputs = _outputs(spec, vector, batch.obs)
        action, log = log_prob(outputs, noise)
        value = jnp.min(_judged(spec, critic.weights, CRITICS, batch.obs, action), axis=0)
        own = _mean(alpha * log - value, batch)
        taught, distance = _taught(spec, own, batch, outputs, h, scale=alpha + _mean(jnp.abs(value), batch))
        return taught, (_mean(log, batch), distance)

    (actor_loss, (log, distance)), gradient = jax.value_and_grad(loss, has_aux=True)(train.actor.weights)
    actor = _stepped(train.actor, gradient, h["lr"])
    missing = log + h["entropy_target"] * spec.exploring.width
    temperature = _stepped(train.alpha, -missing[None], jnp.where(h["alpha_lr"] > 0, h["alpha_lr"], h["lr"]))
    learnt = jax.tree.map(lambda new, old: jnp.where(h["alpha"] > 0, old, new), temperature, train.alpha)
    targets = _followed(train.targets, critic.weights, h["tau"])
    train = train._replace(actor=actor, critic=critic, targets=targets, alpha=learnt, updates=train.updates + 1)
    return train, jnp.stack([critic_loss, actor_loss, q, alpha, -log, distance])


def td3(spec: ReplaySpec, train: TrainState, batch: Batch, h: Values, key: jax.Array) -> tuple[TrainState, jax.Array]:
    """Twin delayed deterministic policy gradient (Fujimoto et al. 2018)."""
    size = train.critic.weights.shape[0]
    target_critic, target_actor = train.targets[:size], train.targets[size:]
    noise = jax.random.normal(key, (len(batch.reward), spec.exploring.width)) * h["target_noise"]
    noise = jnp.clip(noise, -h["target_clip"], h["target_clip"])
    next_action = jnp.clip(jnp.tanh(_outputs(spec, target_actor, batch.after)) + noise, -1, 1)
    best = jnp.min(_twins(spec, target_critic, batch.after, next_action), axis=0)
    critic, critic_loss, q = _critics(spec, train.critic, batch, batch.reward + batch.discount * best, h)

    def loss(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
        outputs = _outputs(spec, vector, batch.obs)
        value = _judged(spec, critic.weights, CRITICS[:1], batch.obs, jnp.tanh(outputs))[0]
        return _taught(spec, -_mean(value, batch), batch, outputs, h, scale=_mean(jnp.abs(value), batch))

    def learnt() -> tuple[AdamState, jax.Array, jax.Array]:
        losses, gradient = jax.value_and_grad(loss, has_aux=True)(train.actor.weights)
        actor = _stepped(train.actor, gradient, h["lr"])
        followed = _followed(train.targets, jnp.concatenate([critic.weights, actor.weights]), h["tau"])
        return actor, followed, jnp.stack(losses)

    due = (train.updates + 1) % h["delay"].astype(jnp.int32) == 0
    actor, targets, losses = jax.lax.cond(due, learnt, lambda: (train.actor, train.targets, jnp.zeros(2)))
    actor_loss, distance = losses * h["delay"]  # they are summed over all updates
    train = train._replace(actor=actor, critic=critic, targets=targets, updates=train.updates + 1)
    return train, jnp.stack([critic_loss, actor_loss, q, jnp.float32(0), jnp.float32(0), distance])


def dqn(spec: ReplaySpec, train: TrainState, batch: Batch, h: Values, key: jax.Array) -> tuple[TrainState, jax.Array]:
    """Deep Q-learning (Mnih et al. 2015), double (van Hasselt et al. 2016) and dueling (Wang et al. 2016) if so set."""
    ahead = _outputs(spec, train.targets, batch.after)
    own = _outputs(spec, train.actor.weights, batch.after)
    chosen = jnp.argmax(jnp.where(h["double"] > 0, own, ahead), axis=-1)
    target = batch.reward + batch.discount * _picked(ahead, chosen)
    action = batch.action[:, 0].astype(jnp.int32)
    linear = jnp.where(h["huber"] > 0, h["huber"], NEVER)
    scale = jnp.float32(1) if spec.teacher is None else jnp.mean(jnp.abs(batch.teacher))

    def loss(vector: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        values = _outputs(spec, vector, batch.obs)
        value = _picked(values, action)
        error = jnp.abs(value - target)
        own = _mean(jnp.where(error < linear, 0.5 * error**2, linear * (error - 0.5 * linear)), batch)
        taught, distance = _taught(spec, own, batch, values, h, scale=scale)
        return taught, (_mean(value, batch), distance)

    (critic_loss, (q, distance)), gradient = jax.value_and_grad(loss, has_aux=True)(train.actor.weights)
    actor = _stepped(train.actor, gradient, h["lr"], MAX_NORM)
    train = train._replace(actor=actor, targets=_followed(train.targets, actor.weights, h["tau"]), updates=train.updates + 1)
    zero = jnp.float32(0)
    return train, jnp.stack([critic_loss, zero, q, zero, zero, distance])


UPDATES: Mapping[str, Update] = {"sac": sac, "td3": td3, "dqn": dqn}
REPORTED: Mapping[str, tuple[str, ...]] = {
    "sac": METRICS[:-1],
    "td3": ("critic_loss", "actor_loss", "q"),
    "dqn": ("critic_loss", "q"),
}
"""The metrics that an algorithm has; whoever is taught has the last one, too."""


def _outputs(spec: ReplaySpec, vector: jax.Array, obs: jax.Array) -> jax.Array:
    """The outputs [batch, output] of the policy's network."""
    network = spec.policy.network
    vector = folded(network, vector, dueling=spec.dueling)
    if spec.native:
        from evolute.learners.offpolicy import native  # needs llvmlite, an extra

        return native.outputs(network, vector, obs)
    return networks.policy(network, networks.unpacked(network, vector), obs, jnp.zeros((len(obs), 1)))[0]


def _taught(
    spec: ReplaySpec, own: jax.Array, batch: Batch, outputs: jax.Array, h: Values, scale: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """A member's own loss with the distance to its teacher, in units of `scale`, and that distance; no teacher is 0 away."""
    if spec.teacher is None:
        return own, jnp.float32(0)
    distance = _mean(teacher.distance(spec, batch.teacher, outputs), batch)
    return own + h["teacher_weight"] * jax.lax.stop_gradient(scale) * distance, distance


def _critics(
    spec: ReplaySpec, critic: AdamState, batch: Batch, target: jax.Array, h: Values
) -> tuple[AdamState, jax.Array, jax.Array]:
    """The critics after a step towards a target, the loss before it, and the mean value."""

    def loss(vector: jax.Array) -> tuple[jax.Array, jax.Array]:
        values = _twins(spec, vector, batch.obs, batch.action)
        return _mean(0.5 * jnp.sum(jnp.square(values - target), axis=0), batch), _mean(values[0], batch)

    (error, q), gradient = jax.value_and_grad(loss, has_aux=True)(critic.weights)
    return _stepped(critic, gradient, jnp.where(h["critic_lr"] > 0, h["critic_lr"], h["lr"])), error, q


def _twins(spec: ReplaySpec, vector: jax.Array, obs: jax.Array, action: jax.Array) -> jax.Array:
    """What both critics think of actions, [critic, batch]; the critics have a gradient."""
    if spec.native:
        from evolute.learners.offpolicy import native

        return native.values(spec, vector, obs, action)
    return _values(spec, vector, CRITICS, obs, action)


def _judged(spec: ReplaySpec, vector: jax.Array, names: Sequence[str], obs: jax.Array, action: jax.Array) -> jax.Array:
    """What these critics think of actions, [critic, batch]; the actions have a gradient."""
    if spec.native:
        from evolute.learners.offpolicy import native

        return native.values_by_action(spec, vector, names, obs, action)
    return _values(spec, vector, names, obs, action)


def _values(spec: ReplaySpec, vector: jax.Array, names: Sequence[str], obs: jax.Array, action: jax.Array) -> jax.Array:
    arrays: Weights = weights.unpacked(spec.critic_parts, vector)
    x = jnp.concatenate([obs, action], axis=-1)
    features = [torsos.features(spec.critic, arrays, name, x) for name in names]
    return jnp.stack([layers.affine(arrays, f"{name}/head", one)[:, 0] for name, one in zip(names, features, strict=True)])


def _picked(values: jax.Array, action: jax.Array) -> jax.Array:
    return jnp.take_along_axis(values, action[:, None], axis=-1)[:, 0]


def _mean(values: jax.Array, batch: Batch) -> jax.Array:
    """The mean over rows that are steps."""
    return jnp.sum(values * batch.weight) / jnp.maximum(jnp.sum(batch.weight), 1)


def _stepped(state: AdamState, gradient: jax.Array, lr: jax.Array, max_norm: float = jnp.inf) -> AdamState:
    rate, root = adam.rates(lr, state.count)
    return adam.step(state, gradient, rate, root, eps=jnp.float32(ADAM_EPS), max_norm=jnp.float32(max_norm))


def _followed(targets: jax.Array, learnt: jax.Array, tau: jax.Array) -> jax.Array:
    return targets + tau * (learnt - targets)


def preprocessed(spec: ReplaySpec, train: TrainState, batch: Batch, h: Values) -> Batch:
    """The batch as networks are shown it: observations normalised, rewards scaled."""
    seen = acting.preprocessing(spec.policy, train.obs, h["normalize_obs"])
    return batch._replace(obs=seen(batch.obs), after=seen(batch.after), reward=batch.reward * h["reward_scale"])
