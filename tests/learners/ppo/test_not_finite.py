"""Numbers that are none: the error says which, in which environment and step, for environments inside the program and not."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners.ppo.training import learner

from evolute.core.order import Order
from evolute.core.worker import Worker
from evolute.envs.interface import Step
from evolute.envs.spec import EnvSpec
from evolute.learners.kit.episodes import env_seeds
from evolute.testing.memory import MemoryStates

SMALL = {"envs": 3, "unroll": 8, "minibatches": 1, "epochs": 1, "widths": (4,)}
SEED, STEP = 1, 21
"""The step that goes wrong: in the third rollout."""


@dataclass(frozen=True)
class OfJax:
    """All environments go wrong in the same step; the first is named."""

    what: str
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, key):
        return jnp.int32(0), jnp.zeros(2)

    def step(self, key, state, action):
        time = state + 1
        wrong = jnp.where(time == STEP, jnp.nan, 0.0)
        obs = jnp.zeros(2).at[1].add(wrong if self.what == "observation" else 0.0)
        reward = wrong if self.what == "reward" else 0.0
        return Step(time, obs, jnp.float32(reward), jnp.bool_(False), jnp.bool_(False))


class OnHost(gymnasium.Env):
    """The second environment of the member goes wrong."""

    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, what):
        self.what = what

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bad, self.time = seed == env_seeds([SEED], SMALL["envs"])[0][1], 0
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.time += 1
        wrong = np.nan if self.time == STEP and self.bad else 0.0
        obs = np.array([0, wrong if self.what == "observation" else 0], np.float32)
        return obs, wrong if self.what == "reward" else 0.0, False, False, {}


def trained(made, **hparams):
    (report,) = Worker(made, MemoryStates()).train([Order(0, 0, hparams, steps=96, seed=SEED)])
    return report


@pytest.mark.parametrize(("article", "what"), [("a", "reward"), ("an", "observation")])
def test_on_the_host_the_environment_and_the_step_are_named(article, what):
    made = learner(EnvSpec("tests.learners.ppo.test_not_finite:OnHost", {"OnHost": {"what": what}}), **SMALL)
    report = trained(made)
    said = f"gave {article} {what} that is not a finite number: environment 1 of the member, in its step {STEP} of this turn"
    assert said in report.error


@pytest.mark.parametrize("what", ["reward", "observation"])
def test_inside_the_program_the_environment_and_the_step_are_named(what):
    made = learner(EnvSpec("tests.learners.ppo.test_not_finite:OfJax", {"OfJax": {"what": what}}), **SMALL)
    report = trained(made)
    assert f"{what} that is not a finite number: environment 0 of the member, in its step {STEP} " in report.error


def test_a_learning_rate_that_explodes_is_not_blamed_on_the_environment():
    made = learner("cartpole", **SMALL)
    report = trained(made, lr=1e38, max_grad_norm=1e38)
    assert "environment gave" not in report.error
    assert "learning rate may be too high" in report.error
