"""PPO's update against the formulas written out in numpy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from evolute.learners.kit import adam, networks, normalise
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Categories
from evolute.learners.kit.networks import Network
from evolute.learners.ppo import gae, minibatches, update
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.settings import NUMBERS, PPOSettings, Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState

RNG = np.random.default_rng(0)
TIME, ENVS = 7, 3


def traced(**settings):
    values = {**vars(PPOSettings()), "augmentation": 0, **settings}
    return Traced(*(jnp.float32(values[name]) for name in NUMBERS))


def rollout(**fields):
    grid = (TIME, ENVS)
    zeros = np.zeros(grid, np.float32)
    made = {
        "obs": RNG.normal(size=(*grid, 4)),
        "action": RNG.integers(0, 2, size=(*grid, 1)),
        "outputs": RNG.normal(size=(*grid, 2)),
        "value": RNG.normal(size=grid),
        "reward": RNG.normal(size=grid),
        "extra": zeros,
        "follows": np.ones(grid),
        "ends": zeros,
        "first": zeros,
        "valid": np.ones(grid),
        **fields,
    }
    return Rollout(**{name: jnp.asarray(value, jnp.float32) for name, value in made.items()})


def test_advantages_are_those_of_the_formula():
    ends = (RNG.random((TIME, ENVS)) < 0.3).astype(np.float32)
    played = rollout(ends=ends, follows=1 - ends)
    last = RNG.normal(size=ENVS).astype(np.float32)
    found = np.asarray(gae.advantages(played, jnp.asarray(last), traced(discount=0.9, gae_lambda=0.8)))
    after, values = np.zeros(ENVS), np.concatenate([np.asarray(played.value), last[None]])
    for time in range(TIME)[::-1]:
        delta = np.asarray(played.reward)[time] + 0.9 * values[time + 1] * (1 - ends[time]) - values[time]
        after = delta + 0.9 * 0.8 * (1 - ends[time]) * after
        np.testing.assert_allclose(found[time], after, rtol=1e-4, atol=1e-5)


def test_the_value_beyond_a_time_limit_counts_once():
    """Whether the next row holds it, or it was added to the reward because the env was reset at once."""
    ends = np.zeros((TIME, ENVS), np.float32)
    ends[3] = 1
    played = rollout(ends=ends)
    beyond = np.asarray(played.value)[4]
    extra = np.zeros_like(ends)
    extra[3] = 0.9 * beyond
    other = played._replace(follows=jnp.asarray(1 - ends), extra=jnp.asarray(extra))
    h, last = traced(discount=0.9), jnp.zeros(ENVS)
    np.testing.assert_allclose(gae.advantages(played, last, h), gae.advantages(other, last, h), rtol=1e-5, atol=1e-6)


def test_a_shuffle_is_a_permutation():
    for number in (1, 2, 6, 21, 1024, 2048):
        for multiplier in minibatches.coprimes(number):
            assert sorted(int(multiplier) * i % number for i in range(number)) == list(range(number))


@pytest.mark.parametrize(
    "number", [65_535, 65_536, 80_000, 100_000, pytest.param(1_000_003, marks=pytest.mark.slow(reason="a million rows"))]
)
def test_a_shuffle_of_many_rows_stays_within_32_bits(number):
    places = np.arange(number, dtype=np.uint32)
    for multiplier in minibatches.coprimes(number)[:8]:
        shuffled = (multiplier * places + np.uint32(number - 1)) % np.uint32(number)
        assert len(np.unique(shuffled)) == number


def begun(vector, steps):
    """A member with these weights."""
    return TrainState(adam.init(vector), normalise.fresh((4,)), normalise.fresh(()), jnp.float32(steps))


def numpy_loss(weights, played, advantage, h):
    """Of one minibatch that is the whole rollout, in float64."""
    x, h = np.asarray(played.obs, float).reshape(-1, 4), Traced(*map(float, h[: len(NUMBERS)]))

    def net(name, head):
        y = x
        for place in range(2):
            y = np.tanh(y @ weights[f"{name}/dense{place}/w"] + weights[f"{name}/dense{place}/b"])
        return y @ weights[f"{head}/w"] + weights[f"{head}/b"]

    logits, value = net("actor", "policy"), net("critic", "value")[:, 0]
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    old = np.asarray(played.outputs, float).reshape(-1, 2)
    old_logs = old - np.log(np.exp(old).sum(axis=1, keepdims=True))
    action = np.asarray(played.action, int).reshape(-1)
    rows = np.arange(len(action))
    ratio = np.exp(logs[rows, action] - old_logs[rows, action])
    adv = np.asarray(advantage, float).reshape(-1)
    target = adv + np.asarray(played.value, float).reshape(-1)
    adv = (adv - adv.mean()) / (adv.std() + 1e-8)
    gain = np.minimum(ratio * adv, np.clip(ratio, 1 - h.clip, 1 + h.clip) * adv).mean()
    entropy = -(np.exp(logs) * logs).sum(axis=1).mean()
    return -gain + h.value_weight * 0.5 * ((value - target) ** 2).mean() - h.entropy * entropy


def test_one_step_follows_the_gradient_of_the_loss_by_adams_rule():
    network = Network((4,), 2, widths=(8, 8))
    spec = PPOSpec(PolicySpec(network, Categories((2,), (0,), single=True)), ENVS, TIME, 1, masked=False)
    vector = networks.initial(network, np.random.default_rng(1)) + 0.05 * RNG.normal(size=networks.size(network))
    vector = vector.astype(np.float32)
    state = begun(vector, 0)
    played, last = rollout(), jnp.zeros(ENVS)
    h = traced(epochs=1, entropy=0.01, max_grad_norm=1e9, lr=1e-3)
    after, losses = update.improve(spec, state, played, last, jnp.zeros((ENVS, 1)), h, jax.random.key(0))
    advantage = gae.advantages(played, last, h)

    def loss(vector):
        return float(numpy_loss(networks.unpacked(network, vector), played, advantage, h))

    gradient = np.zeros(len(vector))
    for place in range(len(vector)):
        step = np.zeros(len(vector))
        step[place] = 1e-5
        gradient[place] = (loss(vector.astype(float) + step) - loss(vector.astype(float) - step)) / 2e-5
    np.testing.assert_allclose(after.adam.mean, 0.1 * gradient, rtol=1e-2, atol=2e-6)
    moved = np.asarray(after.adam.weights) - vector
    expected = -1e-3 * gradient / (np.abs(gradient) + 1e-5)
    np.testing.assert_allclose(moved[np.abs(gradient) > 1e-3], expected[np.abs(gradient) > 1e-3], rtol=2e-2, atol=2e-6)
    assert np.isfinite(losses).all()
    assert after.steps == TIME * ENVS


def improved(**settings):
    network = Network((4,), 2, widths=(8, 8))
    spec = PPOSpec(PolicySpec(network, Categories((2,), (0,), single=True)), ENVS, TIME, 1, masked=False)
    vector = networks.initial(network, np.random.default_rng(1))
    state = begun(vector, 500)
    played = rollout() if not settings.pop("same", False) else SAME
    h, last, memory = traced(**settings), jnp.zeros(ENVS), jnp.zeros((ENVS, 1))
    after, _ = update.improve(spec, state, played, last, memory, h, jax.random.key(0))
    return np.asarray(after.adam.weights)


SAME = rollout()


@pytest.mark.parametrize(
    "change",
    [
        {"lr": 1e-3}, {"discount": 0.5}, {"gae_lambda": 0.5}, {"clip": 0.01}, {"value_clip": 0.01}, {"entropy": 0.5},
        {"value_weight": 3.0}, {"max_grad_norm": 0.01}, {"adam_eps": 1e-2}, {"normalize_advantage": False}, {"epochs": 2},
        {"anneal": 1000},
    ],
)  # fmt: skip
def test_every_setting_acts_on_the_very_next_update(change):
    assert not np.array_equal(improved(same=True), improved(same=True, **change))


def test_the_learning_rate_falls_to_zero_where_annealing_ends():
    before = networks.initial(Network((4,), 2, widths=(8, 8)), np.random.default_rng(1))
    np.testing.assert_array_equal(improved(anneal=500), before)


def test_running_moments_are_those_of_everything_seen():
    rows = RNG.normal(3, 2, size=(30, 2)).astype(np.float32)
    moments = normalise.fresh((2,))
    for part in np.split(rows, 3):
        moments = normalise.updated(moments, jnp.asarray(part), jnp.ones(10))
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-3)
    np.testing.assert_allclose(moments.variance, rows.var(axis=0), rtol=1e-3)
    half = normalise.updated(normalise.fresh((2,)), jnp.asarray(rows), jnp.asarray([1.0] * 15 + [0.0] * 15))
    np.testing.assert_allclose(half.mean, rows[:15].mean(axis=0), rtol=1e-3)
