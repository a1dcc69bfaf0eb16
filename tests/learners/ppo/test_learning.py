"""Probe environments whose answer is known: each can be learned only if one part of PPO works."""

import numpy as np
import pytest
from tests.learners.ppo.training import learner, played, train, values

from evolute.core.order import Ref

QUICK = {"lr": 1e-2, "envs": 8, "unroll": 32, "minibatches": 2, "widths": (16,), "entropy": 0.0, "discount": 0.9}


def probe(name, *, steps, **settings):
    made = learner(f"tests.envs.probes:{name}", **{**QUICK, **settings})
    worker, (report,) = train(made, steps=steps)
    return made, worker, report


def test_the_value_of_the_only_state_is_its_reward():
    made, worker, report = probe("value_only", steps=8_000)
    assert values(made, worker, [[0.0]]) == pytest.approx(1, abs=0.05)
    assert report.metrics["score"] == 1


def test_the_value_depends_on_what_is_seen():
    made, worker, _ = probe("value_of_obs", steps=16_000)
    assert values(made, worker, [[1.0], [-1.0]]) == pytest.approx([1, -1], abs=0.1)


def test_a_reward_one_step_later_counts_less():
    made, worker, _ = probe("discounting", steps=16_000, discount=0.5)
    assert values(made, worker, [[0.0], [1.0]]) == pytest.approx([0.5, 1], abs=0.1)


@pytest.mark.parametrize("name", ["action_choice", "action_by_obs", "multi_discrete"])
def test_the_better_action_is_taken(name):
    made, worker, report = probe(name, steps=16_000)
    assert played(made, worker, Ref(0, 0)) == 1
    assert report.metrics["score"] > 0.8


def test_an_early_action_gets_the_credit_of_a_late_reward():
    made, worker, _ = probe("credit", steps=48_000, discount=0.95)
    assert played(made, worker, Ref(0, 0)) == 1


@pytest.mark.parametrize("settings", [{}, {"std": "state"}, {"squash": True}])
def test_a_continuous_action_finds_its_place(settings):
    made, worker, _ = probe("continuous", steps=64_000, lr=3e-3, **settings)
    action = made.policy(worker.dump(Ref(0, 0)))(np.zeros(1))
    assert action == pytest.approx(0.3, abs=0.1)


def test_the_value_at_a_time_limit_is_bootstrapped():
    made, worker, _ = probe("time_limit", steps=120_000, gae_lambda=0.9)
    assert values(made, worker, [[0.0]]) == pytest.approx(10, abs=0.7)


def test_the_value_at_a_true_end_is_not_bootstrapped():
    made, worker, _ = probe("true_end", steps=60_000, gae_lambda=0.9)
    first = sum(0.9**k for k in range(10))
    last = values(made, worker, [[0.9]])[0]
    assert last == pytest.approx(1, abs=0.35)
    assert values(made, worker, [[0.0]])[0] == pytest.approx(first, abs=0.7)


@pytest.mark.slow(reason="learns a task with and without memory")
def test_a_cue_is_remembered_by_a_policy_with_memory_alone():
    blind, worker, _ = probe("memory", steps=32_000)
    remembering, other, _ = probe("memory", steps=96_000, memory=16, discount=0.95, entropy=0.01)
    assert played(blind, worker, Ref(0, 0), episodes=100) < 0.4
    assert played(remembering, other, Ref(0, 0), episodes=100) == 1
