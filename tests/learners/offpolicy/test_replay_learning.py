"""Probe environments whose answer is known: each can be learned only if one part of an off-policy learner works."""

import numpy as np
import pytest
from tests.envs import host_probes  # noqa: F401
from tests.learners.offpolicy.replaying import learner, state_of, values
from tests.learners.ppo.training import played, train

from evolute.core.order import Ref

QUICK = {
    "lr": 3e-3, "envs": 4, "unroll": 8, "batch": 64, "widths": (32,), "warmup": 200, "ratio": 0.5, "discount": 0.9, "tau": 0.05,
    "capacity": 20_000, "devices": 2,
}  # fmt: skip
CALM = {"sac": {"alpha": 1e-6}, "td3": {}, "dqn": {"explore": 1000, "epsilon": 0.5}}
"""What keeps values from being about anything but rewards: no entropy in them, and many random actions."""
STEPS = [{"n_step": 1}, {"n_step": 3}, {"n_step": 5}]
EXACT = 0.02


def probe(algorithm, name, *, steps, hparams=({},), **settings):
    module = "tests.envs.probes" if algorithm == "dqn" else "tests.learners.offpolicy.boxed"
    made = learner(algorithm, name if ":" in name else f"{module}:{name}", **{**QUICK, **CALM[algorithm], **settings})
    worker, reports = train(made, hparams, steps=steps)
    return made, worker, reports


def check_values(algorithm, name, obs, expected, *, steps, hparams=({},), **settings):
    made, worker, _ = probe(algorithm, name, steps=steps, hparams=hparams, **settings)
    for member in range(len(hparams)):
        found = values(made, state_of(made, worker, member), obs)
        found = found.mean(axis=1) if algorithm == "dqn" else found
        np.testing.assert_allclose(found, expected, rtol=EXACT, atol=EXACT, err_msg=str(hparams[member]))


@pytest.mark.slow("the simplest value, of each algorithm")
@pytest.mark.parametrize("algorithm", ["sac", "td3", "dqn"])
def test_the_value_of_the_only_state_is_its_reward(algorithm):
    check_values(algorithm, "value_only", [[0.0]], [1.0], steps=4_000)


def test_a_time_limit_is_no_end_for_any_number_of_steps():
    check_values("dqn", "time_limit", [[0.0]], [10.0], steps=12_000, hparams=STEPS)


THREE = [[-1.0], [0.0], [1.0]], [2.71, 1.9, 1.0]
"""What is shown in an episode of three steps, and the discounted sum of what is left."""


def test_a_termination_is_one_for_any_number_of_steps():
    check_values("dqn", "tests.learners.offpolicy.boxed:three_steps", *THREE, steps=8_000, hparams=STEPS)


@pytest.mark.slow("SAC and TD3 bootstrap at time limits and not at ends, and discount, for n-step returns of 1, 3 and 5")
@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_values_of_continuous_actions(algorithm):
    check_values(algorithm, "time_limit", [[0.0]], [10.0], steps=24_000, hparams=STEPS)
    check_values(algorithm, "three_steps_boxed", *THREE, steps=12_000, hparams=STEPS)
    check_values(algorithm, "discounting", [[0.0], [1.0]], [0.5, 1.0], steps=8_000, discount=0.5)


@pytest.mark.slow("rows of environments on the host mean the same")
def test_a_time_limit_on_the_host_is_no_end():
    made = learner("dqn", "gym:probes/TimeLimit-v0", **{**QUICK, **CALM["dqn"]})
    worker, _ = train(made, STEPS, steps=12_000)
    for member in range(3):
        np.testing.assert_allclose(values(made, state_of(made, worker, member), [[0.0]]), 10, rtol=2 * EXACT)


@pytest.mark.slow("the value of each action in each state")
def test_the_better_action_is_taken():
    made, worker, _ = probe("dqn", "action_by_obs", steps=6_000)
    assert played(made, worker, Ref(0, 0)) == 1
    found = values(made, state_of(made, worker), [[1.0], [-1.0]])
    np.testing.assert_allclose(found, [[-1, 1], [1, -1]], atol=EXACT)


@pytest.mark.slow("a policy climbs its critic")
@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_a_continuous_action_finds_its_place(algorithm):
    made = learner(algorithm, "tests.envs.probes:continuous", **{**QUICK, **CALM[algorithm]})
    worker, _ = train(made, steps=8_000)
    action = made.policy(worker.dump(Ref(0, 0)))(np.zeros(1, np.float32))
    assert action == pytest.approx(0.3, abs=0.05)
    found = [values(made, state_of(made, worker), [[0.0]], action)[0] for action in (-0.5, 0.3, 1.0)]
    np.testing.assert_allclose(found, [-0.64, 0, -0.49], atol=0.05)


@pytest.mark.slow("the temperature is learnt")
def test_a_learnt_temperature_keeps_the_entropy_at_its_target():
    made = learner("sac", "tests.envs.probes:continuous", **QUICK)
    _, reports = train(made, [{"entropy_target": -1.0}, {"entropy_target": 0.3}], turns=2, steps=8_000)
    assert [report.metrics["entropy"] for report in reports] == pytest.approx([-1.0, 0.3], abs=0.2)


@pytest.mark.slow(reason="Pendulum at 20,000 steps by both; benchmarks/learning.py has more seeds, and DQN on CartPole")
@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_pendulum_is_learnt(algorithm):
    made = learner(algorithm, "gymnax:Pendulum-v1", widths=(64, 64), batch=128, lr=1e-3, warmup=100)
    worker, _ = train(made, [{}] * 2, turns=4, steps=5_000, seed=31)
    assert min(played(made, worker, Ref(member, 3)) for member in range(2)) >= -200
