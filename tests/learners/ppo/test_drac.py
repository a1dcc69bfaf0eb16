"""DrAC inside PPO: its loss, members with different augmentations in one program, and what it refuses."""

from __future__ import annotations

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from training import learner, train

from evolute.core.order import Ref
from evolute.learners.kit import networks
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Categories, Gaussian
from evolute.learners.kit.networks import Network
from evolute.learners.ppo import loss, update
from evolute.learners.ppo.augment import AUGMENTATIONS
from evolute.learners.ppo.learner import traced
from evolute.learners.ppo.minibatches import Batch, Minibatch, StepData
from evolute.learners.ppo.settings import PPOSettings
from evolute.learners.ppo.spec import PPOSpec

SMALL = {"envs": 2, "unroll": 8, "minibatches": 1, "epochs": 1, "widths": (8,), "network": "cnn"}


class Lamps(gymnasium.Env):
    """Images of 8 x 8 whose brighter half says which action is right."""

    observation_space = Box(0, 255, (8, 8, 3), np.uint8)
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self._drawn(), {}

    def step(self, action):
        reward = float(action == self.side)
        return self._drawn(), reward, True, False, {}

    def _drawn(self):
        self.side = int(self.np_random.integers(2))
        image = self.np_random.integers(0, 80, (8, 8, 3)).astype(np.uint8)
        image[:, 4 * self.side : 4 * self.side + 4] += 150
        return image


gymnasium.register("probes/Lamps-v0", Lamps)
ENV = "gym:probes/Lamps-v0"


def inconsistency(which, actions):
    network = Network((8, 8, 3), actions.outputs, actions.spread, "cnn", (8,), "relu", 0, True)
    spec = PPOSpec(PolicySpec(network, actions), 4, 4, 1, masked=True, augmented=True)
    vector = jnp.asarray(networks.initial(network, np.random.default_rng(0))) * 3
    obs = jnp.asarray(np.random.default_rng(1).integers(0, 256, (16, 8, 8, 3), np.uint8))
    h = traced({**vars(PPOSettings()), "augmentation": which})
    memory = jnp.zeros((4, 1))
    data = jnp.zeros((actions.width + len(StepData._fields), 16))
    minibatch = Minibatch(jnp.arange(16), jnp.arange(16), data, jnp.zeros(()), jnp.zeros(()))

    def apart(vector):
        weights = networks.grouped(network, vector)
        predictions = update.predict(spec, weights, Batch(obs, obs, memory), minibatch, h, jax.random.key(0))
        return jnp.sum(loss.inconsistency(spec, predictions, *predictions.augmented))

    return jax.jit(jax.value_and_grad(apart))(vector)


@pytest.mark.parametrize("actions", [Categories((3,), (0,), single=True), Gaussian((-1.0,), (1.0,), (1,))])
def test_the_loss_is_zero_under_the_identity_and_only_there(actions):
    value, gradient = inconsistency("color_jitter", actions)
    assert value > 1e-3
    nothing, still = inconsistency("none", actions)
    assert abs(nothing) < 1e-5 * value
    assert np.abs(still).max() < 1e-4 * np.abs(gradient).max()
    assert np.abs(gradient).max() > 1e-3


def test_the_divergence_is_that_of_kullback_and_leibler():
    one, other = jnp.log(jnp.array([[0.5], [0.5]])), jnp.log(jnp.array([[0.9], [0.1]]))
    found = Categories((2,), (0,), single=True).divergence(one, other)
    np.testing.assert_allclose(found, 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1), rtol=1e-5)
    gaussian = Gaussian((-1.0,), (1.0,), (1,))
    weights, none = {"log_std": jnp.array([np.log(2.0)])}, jnp.zeros((1, 1))
    one, other = (gaussian.parameters(weights, jnp.array([[mean]]), none) for mean in (1.0, 4.0))
    found = gaussian.divergence(one, other)
    np.testing.assert_allclose(found, 3.0**2 / (2 * 2.0**2), rtol=1e-5)


def test_members_with_different_augmentations_train_in_one_program_and_a_change_compiles_nothing():
    made = learner(ENV, **SMALL)
    hparams = [{"augmentation": name, "augmentation_weight": 1.0} for name in AUGMENTATIONS[1:]]
    assert len({made.shape(values) for values in hparams}) == 1
    worker, reports = train(made, hparams, steps=16)
    weights = [worker.dump(Ref(member, 0))["learnt"]["optimiser"]["weights"] for member in range(8)]
    assert all(report.metrics["consistency"] >= 0 for report in reports)
    assert len({array.tobytes() for array in weights}) == 8
    compiled = len(made.runner.programs)
    train(made, [*hparams[1:], hparams[0]], steps=16)
    assert len(made.runner.programs) == compiled


def test_without_an_augmentation_nothing_is_said_of_it():
    made = learner(ENV, **SMALL)
    assert "consistency" not in train(made, [{}], steps=16)[1][0].metrics
    assert made.shape({}) != made.shape({"augmentation": "crop"})


@pytest.mark.parametrize(("env", "settings"), [("cartpole", {}), (ENV, {"network": "mlp"}), (ENV, {"memory": 4})])
def test_what_cannot_be_augmented_is_refused(env, settings):
    made = learner(env, **{**SMALL, "network": "auto", **settings}, augmentation="crop")
    with pytest.raises(ValueError, match=r"ppo\.augmentation is for square colour images"):
        made.advice(16, [{}])


def test_it_learns_under_an_augmentation():
    """Random actions get half of the rewards."""
    settings = {**SMALL, "envs": 8, "unroll": 32, "minibatches": 4, "epochs": 4, "lr": 3e-3, "augmentation_weight": 0.1}
    made = learner(ENV, **settings, augmentation="crop")
    _, (report,) = train(made, [{}], turns=3, steps=2048)
    assert report.metrics["return"] > 0.8
