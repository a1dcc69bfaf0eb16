"""One update of each algorithm against a reference that is written anew, with weights by name and Adam in numpy."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners.offpolicy.replaying import learner

from evolute.learners.kit import networks, weights
from evolute.learners.offpolicy.settings import SETTINGS
from evolute.learners.offpolicy.train_state import fresh
from evolute.learners.offpolicy.updates import METRICS, UPDATES, preprocessed
from evolute.learners.offpolicy.window import Batch

ROWS = 24
WIDTHS = {"widths": (7, 5), "batch": ROWS, "capacity": 1000}


def setting(algorithm, **settings):
    """A learner's spec, a train state in the middle of training, a batch with void rows, and settings by name."""
    env = "cartpole" if algorithm == "dqn" else "gymnax:Pendulum-v1"
    made = learner(algorithm, env, **WIDTHS, **settings)
    full = made._full({})
    spec, rng = made._spec(full), np.random.default_rng(4)
    train = fresh(spec, rng)
    mean, square = (rng.uniform(1e-3, 1e-2, train.actor.mean.shape).astype(np.float32) for _ in "ms")
    moved = train.actor._replace(mean=mean, square=square, count=np.int32(9))
    train = train._replace(actor=moved, targets=train.targets + rng.normal(0, 0.1, train.targets.shape).astype(np.float32))
    size = spec.actor.obs[0]
    action = rng.integers(0, 2, (ROWS, 1)) if algorithm == "dqn" else rng.uniform(-1, 1, (ROWS, 1))
    batch = Batch(
        rng.normal(size=(ROWS, size)),
        action,
        rng.normal(size=ROWS) * 3,
        rng.choice([0.0, 0.9, 0.81], ROWS),
        rng.normal(size=(ROWS, size)),
        rng.choice([0.0, 1.0], ROWS, p=[0.2, 0.8]),
    )
    batch = Batch(*(jnp.asarray(array, jnp.float32) for array in batch))
    return spec, train, batch, {name: jnp.float32(full[name]) for name in spec.traced}


@partial(jax.jit, static_argnums=0)
def _update(spec, train, batch, h, key):
    return UPDATES[spec.algorithm](spec, train, batch, h, key)


def updated(spec, train, batch, h, key):
    after, metrics = _update(spec, train, batch, h, key)
    return after, dict(zip(METRICS, map(float, metrics), strict=True))


def dense(arrays, name, x):
    place = 0
    while f"{name}/dense{place}/w" in arrays:
        x = jax.nn.relu(x @ arrays[f"{name}/dense{place}/w"] + arrays[f"{name}/dense{place}/b"])
        place += 1
    return x


def actor(arrays, obs):
    return dense(arrays, "actor", obs) @ arrays["policy/w"] + arrays["policy/b"]


def q(arrays, name, obs, action):
    x = dense(arrays, name, jnp.concatenate([obs, action], axis=1))
    return (x @ arrays[f"{name}/head/w"] + arrays[f"{name}/head/b"])[:, 0]


def adam(state, gradient, lr):
    mean = 0.9 * np.asarray(state.mean, np.float64) + 0.1 * gradient
    square = 0.999 * np.asarray(state.square, np.float64) + 0.001 * gradient**2
    step = int(state.count) + 1
    return state.weights - lr * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)


def gradient(loss, parts, vector):
    """Of a loss of named arrays, as one vector."""
    found = jax.jit(jax.grad(loss))(weights.unpacked(parts, jnp.asarray(vector)))
    return np.concatenate([np.asarray(found[part.name], np.float64).ravel() for part in parts])


def mean(values, batch):
    return jnp.sum(values * batch.weight) / jnp.sum(batch.weight)


def close(found, expected):
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), atol=1e-5, rtol=0)


def squashed(outputs, noise):
    """Actions of a squashed Gaussian, and their log-probabilities by the change of variables."""
    centre, spread = outputs[:, :1], jnp.exp(jnp.clip(outputs[:, 1:], -20, 2))
    action = jnp.tanh(centre + spread * noise)
    density = jnp.exp(-0.5 * noise**2) / (spread * np.sqrt(2 * np.pi)) / (1 - action**2)
    return action, jnp.sum(jnp.log(density), axis=1)


@pytest.mark.parametrize("settings", [{}, {"alpha": 0.3, "critic_lr": 1e-3}], ids=["learnt", "fixed"])
def test_an_update_of_sac(settings):
    spec, train, batch, h = setting("sac", lr=3e-3, entropy_target=-0.5, **settings)
    key = jax.random.key(3)
    after, metrics = updated(spec, train, batch, h, key)
    now, then = jax.random.split(key)
    alpha = settings.get("alpha", 1.0)
    policy, critics = networks.parts(spec.actor), spec.critic_parts
    arrays = weights.unpacked(policy, jnp.asarray(train.actor.weights))
    targets = weights.unpacked(critics, jnp.asarray(train.targets))
    ahead, log = squashed(actor(arrays, batch.after), jax.random.normal(then, (ROWS, 1)))
    lower = jnp.minimum(q(targets, "q0", batch.after, ahead), q(targets, "q1", batch.after, ahead))
    target = batch.reward + batch.discount * (lower - alpha * log)

    def critic_loss(arrays):
        errors = [0.5 * (q(arrays, name, batch.obs, batch.action) - target) ** 2 for name in ("q0", "q1")]
        return mean(sum(errors), batch)

    critic = adam(train.critic, gradient(critic_loss, critics, train.critic.weights), settings.get("critic_lr", 3e-3))
    close(after.critic.weights, critic)
    close(after.targets, 0.995 * train.targets + 0.005 * critic)
    learnt = weights.unpacked(critics, jnp.asarray(critic, jnp.float32))
    noise = jax.random.normal(now, (ROWS, 1))

    def actor_loss(arrays):
        action, log = squashed(actor(arrays, batch.obs), noise)
        lower = jnp.minimum(q(learnt, "q0", batch.obs, action), q(learnt, "q1", batch.obs, action))
        return mean(alpha * log - lower, batch)

    close(after.actor.weights, adam(train.actor, gradient(actor_loss, policy, train.actor.weights), 3e-3))
    entropy = -float(mean(squashed(actor(arrays, batch.obs), noise)[1], batch))
    assert metrics["entropy"] == pytest.approx(entropy, abs=1e-4)
    assert metrics["alpha"] == pytest.approx(alpha)
    assert metrics["critic_loss"] == pytest.approx(
        float(critic_loss(weights.unpacked(critics, jnp.asarray(train.critic.weights)))), abs=1e-4
    )
    rises = entropy < -0.5  # the target is -0.5 for one dimension
    close(after.alpha.weights, [0.0] if settings else [3e-3 if rises else -3e-3])


@pytest.mark.parametrize("made", [0, 1])
def test_an_update_of_td3_moves_policy_and_targets_every_second_time(made):
    spec, train, batch, h = setting("td3", lr=3e-3)
    train, key = train._replace(updates=np.int32(made)), jax.random.key(3)
    after, _ = updated(spec, train, batch, h, key)
    policy, critics = networks.parts(spec.actor), spec.critic_parts
    size = len(train.critic.weights)
    targets, target_actor = (
        weights.unpacked(parts, jnp.asarray(vector))
        for parts, vector in ((critics, train.targets[:size]), (policy, train.targets[size:]))
    )
    noise = jnp.clip(0.2 * jax.random.normal(key, (ROWS, 1)), -0.5, 0.5)
    ahead = jnp.clip(jnp.tanh(actor(target_actor, batch.after)) + noise, -1, 1)
    lower = jnp.minimum(q(targets, "q0", batch.after, ahead), q(targets, "q1", batch.after, ahead))
    target = batch.reward + batch.discount * lower

    def critic_loss(arrays):
        errors = [0.5 * (q(arrays, name, batch.obs, batch.action) - target) ** 2 for name in ("q0", "q1")]
        return mean(sum(errors), batch)

    critic = adam(train.critic, gradient(critic_loss, critics, train.critic.weights), 3e-3)
    close(after.critic.weights, critic)
    learnt = weights.unpacked(critics, jnp.asarray(critic, jnp.float32))

    def actor_loss(arrays):
        return -mean(q(learnt, "q0", batch.obs, jnp.tanh(actor(arrays, batch.obs))), batch)

    moved = adam(train.actor, gradient(actor_loss, policy, train.actor.weights), 3e-3)
    followed = train.targets + 0.005 * (np.concatenate([critic, moved]) - train.targets)
    close(after.actor.weights, moved if made == 1 else train.actor.weights)
    close(after.targets, followed if made == 1 else train.targets)


@pytest.mark.parametrize(("double", "dueling", "huber"), [(True, False, 0.0), (False, True, 1.0)])
def test_an_update_of_dqn(double, dueling, huber):
    spec, train, batch, h = setting("dqn", lr=3e-3, double=double, dueling=dueling, huber=huber)
    after, metrics = updated(spec, train, batch, h, jax.random.key(0))
    parts = networks.parts(spec.actor)

    def outputs(arrays, obs):
        found = actor(arrays, obs)
        advantages = found[:, :2]
        return found[:, 2:] + advantages - jnp.mean(advantages, axis=1, keepdims=True) if dueling else found

    own, targets = (weights.unpacked(parts, jnp.asarray(vector)) for vector in (train.actor.weights, train.targets))
    ahead = outputs(targets, batch.after)
    chosen = jnp.argmax(outputs(own, batch.after) if double else ahead, axis=1)
    target = batch.reward + batch.discount * ahead[jnp.arange(ROWS), chosen]
    action = batch.action[:, 0].astype(int)

    def loss(arrays):
        error = outputs(arrays, batch.obs)[jnp.arange(ROWS), action] - target
        return mean(jnp.where((jnp.abs(error) < 1) | (huber == 0), 0.5 * error**2, jnp.abs(error) - 0.5), batch)

    slope = gradient(loss, parts, train.actor.weights)
    moved = adam(train.actor, slope * min(1, 10 / np.linalg.norm(slope)), 3e-3)
    close(after.actor.weights, moved)
    close(after.targets, train.targets + 0.01 * (moved - train.targets))
    assert metrics["critic_loss"] == pytest.approx(float(loss(own)), abs=1e-4)


@pytest.mark.parametrize("algorithm", sorted(SETTINGS))
def test_a_batch_of_void_rows_alone_changes_no_weight_by_its_content(algorithm):
    spec, train, batch, h = setting(algorithm, lr=3e-3)
    void = batch._replace(weight=jnp.zeros(ROWS))
    other = void._replace(reward=void.reward + 100, obs=-void.obs)
    first, second = (updated(spec, train, one, h, jax.random.key(0))[0] for one in (void, other))
    close(first.actor.weights, second.actor.weights)
    close(first.critic.weights, second.critic.weights)


def test_rewards_are_scaled_and_observations_normalised():
    spec, train, batch, h = setting("sac", reward_scale=0.1, normalize_obs=True)
    moments = train.obs._replace(mean=np.full(3, 0.5, np.float32), variance=np.full(3, 4.0, np.float32))
    seen = preprocessed(spec, train._replace(obs=moments), batch, h)
    close(seen.reward, 0.1 * batch.reward)
    np.testing.assert_allclose(seen.obs, (batch.obs - 0.5) / 2, atol=1e-3)
    np.testing.assert_allclose(seen.after, (batch.after - 0.5) / 2, atol=1e-3)
