"""Spectral normalisation: hidden matrices over their largest singular value, when acting, learning, and in exports."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from training import learner

from evolute.core.order import Order
from evolute.learners.kit import networks, spectral
from evolute.learners.kit.acting import PolicySpec, description
from evolute.learners.kit.actions import Categories
from evolute.learners.kit.native import support
from evolute.learners.kit.networks import Network
from evolute.learners.ppo import update
from evolute.learners.ppo.minibatches import Batch, Minibatch, StepData
from evolute.learners.ppo.spec import PPOSpec

RNG = np.random.default_rng(0)


def stretched(rows, columns):
    """A matrix with one direction that stands out."""
    left, right = RNG.normal(size=rows), RNG.normal(size=columns)
    return jnp.asarray(RNG.normal(size=(rows, columns)) + 3 * np.outer(left, right), jnp.float32)


@pytest.mark.parametrize("shape", [(5, 9), (9, 5), (1, 4), (4, 1)])
def test_a_matrix_is_divided_by_its_largest_singular_value(shape):
    matrix = stretched(*shape)
    largest = np.linalg.svd(np.asarray(matrix), compute_uv=False)[0]
    np.testing.assert_allclose(spectral.normalised(matrix), matrix / largest, rtol=1e-3)
    pair = jnp.stack([matrix, 2 * stretched(*shape)])
    np.testing.assert_allclose(spectral.normalised(pair)[0], spectral.normalised(matrix), rtol=1e-6)


def test_the_singular_value_is_a_constant_in_gradients():
    matrix, weight = stretched(4, 6), jnp.asarray(RNG.normal(size=(4, 6)), jnp.float32)
    gradient = jax.grad(lambda m: jnp.sum(spectral.normalised(m) * weight))(matrix)
    factor = float((spectral.normalised(matrix) / matrix)[0, 0])
    np.testing.assert_allclose(gradient, weight * factor, rtol=1e-4)


def test_learning_and_acting_use_the_same_matrices():
    """What minibatches are learnt from is what the policy acts by; heads and biases are left alone."""
    network = Network((3,), 2, widths=(8, 6), spectral=True)
    vector = jnp.asarray(3 * networks.initial(network, RNG))
    spec = PPOSpec(PolicySpec(network, Categories((2,), (0,), single=True)), 4, 4, 1, masked=False)
    obs = jnp.asarray(RNG.normal(size=(16, 3)), jnp.float32)
    minibatch = Minibatch(jnp.arange(16), obs.T, jnp.zeros((1 + len(StepData._fields), 16)), jnp.zeros(()), jnp.zeros(()))
    batch, h = Batch(obs, obs, jnp.zeros((4, 1))), None
    acting = networks.unpacked(network, vector)

    @jax.jit
    def both(vector, acting):
        learnt, _ = update._predictions_and_vjp(spec, vector, batch, minibatch, h, jax.random.key(0))
        return learnt.outputs.T, networks.policy(network, acting, obs, jnp.zeros((16, 1)))[0]

    np.testing.assert_allclose(*both(vector, acting), rtol=1e-5, atol=1e-6)
    raw = networks.unpacked(Network((3,), 2, widths=(8, 6)), vector)
    same = {name for name in raw if np.array_equal(raw[name], acting[name])}
    assert set(raw) - same == {f"{torso}/dense{place}/w" for torso in ("actor", "critic") for place in range(2)}


def test_an_exported_policy_has_it_in_its_matrices():
    made = learner("tests.envs.probes:value_of_obs", widths=(8, 6), spectral=True)
    (state,) = made.init([Order(0, 0, {}, seed=1)])
    policy = made.policy(made.dump(state))
    network = made._spec(made._full({})).network
    weights = networks.unpacked(network, jnp.asarray(state.train.adam.weights))
    obs = RNG.normal(size=(5, 1)).astype(np.float32)
    expected = networks.policy(network, weights, jnp.asarray(obs), jnp.zeros((5, 1)))[0]
    np.testing.assert_allclose(policy.outputs(obs), expected, rtol=1e-5)
    assert made.shape({}) != made.shape({"spectral": False})


def test_it_is_told_only_of_networks_that_have_it_and_never_trained_by_machine_code():
    network, actions = Network((3,), 2), Categories((2,), (0,), single=True)
    assert "spectral" not in description(PolicySpec(network, actions))["network"]
    other = Network((3,), 2, spectral=True)
    assert description(PolicySpec(other, actions))["network"]["spectral"] is True
    assert support.applies(network)
    assert not support.applies(other)
