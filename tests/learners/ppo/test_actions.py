"""Distributions over actions, against scipy's."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from evolute.learners.kit.actions import Categories, Gaussian, actions_of

RNG = np.random.default_rng(0)


def test_log_probability_and_entropy_of_choices_are_those_of_the_softmax():
    space = gymnasium.spaces.MultiDiscrete([3, 2])
    actions = actions_of(space, std="constant", squash=False)
    outputs = jnp.asarray(RNG.normal(size=(4, 5)), jnp.float32)
    chosen = np.array([[0, 1], [2, 0], [1, 1], [0, 0]])
    log_prob, entropy = actions.log_prob_and_entropy({}, outputs.T, jnp.asarray(chosen.T, jnp.float32))
    for row in range(4):
        parts = [np.array(jax.nn.softmax(outputs[row, :3]), float), np.array(jax.nn.softmax(outputs[row, 3:]), float)]
        assert log_prob[row] == pytest.approx(sum(np.log(p[c]) for p, c in zip(parts, chosen[row], strict=True)), abs=1e-5)
        assert entropy[row] == pytest.approx(sum(stats.entropy(p) for p in parts), abs=1e-5)


def test_choices_are_drawn_as_often_as_they_are_likely():
    actions = Categories((3,), (0,), single=True)
    logits = jnp.log(jnp.array([0.2, 0.5, 0.3]))
    noise = actions.noise(jax.random.key(0), (20_000,))
    drawn = np.asarray(actions.sample({}, jnp.broadcast_to(logits, (20_000, 3)), noise))[:, 0]
    np.testing.assert_allclose(np.bincount(drawn.astype(int)) / 20_000, [0.2, 0.5, 0.3], atol=0.015)


@pytest.mark.parametrize("std", ["constant", "state"])
def test_log_probability_and_entropy_of_a_gaussian(std):
    actions = Gaussian((-1.0, -1.0), (1.0, 1.0), (2,), std)
    mean, log_std = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2) if std == "state" else (2,)) * 0.3
    outputs = np.concatenate([mean, log_std], axis=1) if std == "state" else mean
    action = RNG.normal(size=(3, 2))
    weights = {"log_std": jnp.asarray(log_std, jnp.float32)}
    log_prob, entropy = actions.log_prob_and_entropy(
        weights, jnp.asarray(outputs.T, jnp.float32), jnp.asarray(action.T, jnp.float32)
    )
    normal = stats.norm(mean, np.exp(log_std))
    np.testing.assert_allclose(log_prob, normal.logpdf(action).sum(axis=1), rtol=1e-4)
    np.testing.assert_allclose(entropy, np.broadcast_to(normal.entropy(), (3, 2)).sum(axis=1), rtol=1e-4)


def test_a_squashed_gaussian_has_a_density_over_actions():
    """The density of tanh(x) integrates to one over (-1, 1)."""
    actions = Gaussian((-1.0,), (1.0,), (1,), squash=True)
    weights = {"log_std": jnp.array([-0.3])}
    place = np.linspace(-0.9999, 0.9999, 40_001)
    raw = jnp.asarray(np.arctanh(place), jnp.float32)[None]
    log_prob, _ = actions.log_prob_and_entropy(weights, jnp.full((1, len(place)), 0.4), raw)
    assert np.trapezoid(np.exp(np.asarray(log_prob, float)), place) == pytest.approx(1, abs=1e-2)


def test_actions_reach_the_env_in_its_own_bounds_and_names():
    assert actions_of(gymnasium.spaces.Discrete(3, start=5), std="constant", squash=False).to_env(np.array([[2.0]])) == 7
    box = gymnasium.spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32))
    clipped = actions_of(box, std="constant", squash=False).to_env(np.array([[9.0, -9.0]], np.float32))
    squashed = actions_of(box, std="constant", squash=True).to_env(np.array([[9.0, -9.0]], np.float32))
    np.testing.assert_allclose(clipped, [[2, 0]])
    np.testing.assert_allclose(squashed, [[2, 0]], atol=1e-5)


def test_spaces_that_cannot_be_acted_in_are_refused():
    with pytest.raises(ValueError, match="use a Discrete, MultiDiscrete or Box"):
        actions_of(gymnasium.spaces.Text(3), std="constant", squash=False)
    with pytest.raises(ValueError, match="needs bounded actions"):
        actions_of(gymnasium.spaces.Box(-np.inf, np.inf, (1,)), std="constant", squash=True)
