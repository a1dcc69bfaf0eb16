"""A2C, IMPALA and the policy gradient: what they maximise, and that they keep the laws and learn."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.learners.ppo.test_update import ENVS, TIME, rollout, traced
from tests.learners.ppo.test_vtrace import TWO
from tests.learners.ppo.training import train

from evolute.core.names import resolve
from evolute.envs.spec import EnvSpec
from evolute.learners.a2c import A2CSettings
from evolute.learners.impala import ImpalaSettings
from evolute.learners.pg import PGSettings
from evolute.learners.ppo import returns
from evolute.learners.ppo.loss import LOSSES, Predictions, loss, reported
from evolute.learners.ppo.minibatches import Minibatch
from evolute.learners.ppo.spec import PPOSpec
from evolute.testing import check_learner

SETTINGS = {"a2c": A2CSettings, "impala": ImpalaSettings, "pg": PGSettings}
HPARAMS = [{"lr": 1e-3}, {"lr": 1e-2, "discount": 0.9}, {"lr": 1e-4, "entropy": 0.1}]


@cache
def learner(name, env="cartpole", **settings):
    return resolve("learners", name)(env=EnvSpec(env), settings=SETTINGS[name](**{"devices": 2, **settings}))


def test_returns_are_known_where_episodes_end_within_the_rollout():
    rng = np.random.default_rng(0)
    ends = (rng.random((TIME, ENVS)) < 0.3).astype(np.float32)
    ends[:, 0], ends[-2, 1] = 0, 1
    valid = (rng.random((TIME, ENVS)) < 0.8).astype(np.float32)
    played = rollout(ends=ends, valid=valid)
    found, known = jax.jit(lambda played: returns.advantages(played, traced(discount=0.9)))(played)
    wanted, counted = np.zeros((TIME, ENVS)), np.zeros((TIME, ENVS))
    for env in range(ENVS):
        for start in range(TIME):
            last = next((time for time in range(start, TIME) if ends[time, env]), None)
            counted[start, env] = last is not None
            rewards = np.asarray(played.reward)[start : TIME if last is None else last + 1, env]
            wanted[start, env] = np.sum(rewards * 0.9 ** np.arange(len(rewards)))
    np.testing.assert_array_equal(known, counted)
    both = counted * valid
    wanted -= np.sum(wanted * both) / np.sum(both)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert 0 < counted.mean() < 1


@pytest.mark.parametrize(("estimate", "lagged"), [("gae", False), ("vtrace", True), ("returns", False)])
def test_the_loss_of_a_policy_gradient(estimate, lagged):
    rng, rows = np.random.default_rng(1), 9
    spec = PPOSpec(TWO, 3, 3, 1, masked=True, estimate=estimate, objective="gradient", lagged=lagged)
    outputs, value = rng.normal(size=(2, rows)), rng.normal(size=rows)
    action, weight, log_prob, old, target, advantage = rng.normal(size=(6, rows))
    action, weight, valid = (action > 0).astype(float), np.abs(weight), (rng.random(rows) < 0.7).astype(float)
    fields = [log_prob, old, target, valid, np.zeros(rows), advantage]
    data = [action, *([weight] if estimate == "vtrace" else []), *fields]
    minibatch = Minibatch(jnp.arange(rows), (), jnp.asarray(np.stack(data), jnp.float32), (), ())
    h = traced(entropy=0.3, value_weight=0.0 if estimate == "returns" else 0.7)
    predicted = Predictions(jnp.asarray(outputs, jnp.float32), jnp.asarray(value, jnp.float32), {})
    found, parts = jax.jit(lambda predicted: loss(predicted, spec, minibatch, h))(predicted)
    logs = outputs - np.log(np.exp(outputs).sum(axis=0))
    gain = advantage * logs[action.astype(int), np.arange(rows)] * (weight if estimate == "vtrace" else 1)
    entropy, error = -np.sum(np.exp(logs) * logs, axis=0), 0.5 * (value - target) ** 2
    each = float(h.value_weight) * error - gain - 0.3 * entropy
    assert found == pytest.approx(np.sum(each * valid) / valid.sum(), rel=1e-5)
    means = dict(zip(reported(spec), np.asarray(parts).sum(axis=1), strict=True))
    assert means["policy_loss"] == pytest.approx(-np.sum(gain * valid) / valid.sum(), rel=1e-5)
    assert set(means) == {"policy_loss", "entropy"} | ({"value_loss"} if estimate != "returns" else set()) | (
        {"kl"} if lagged else set()
    )
    assert set(means) <= set(LOSSES)


def test_the_laws_of_a_learner():
    check_learner(learner("impala", envs=4, unroll=8, widths=(8,)), [{"lr": 1e-3}, {"rho_bar": 0.5, "c_bar": 0.5}], steps=96)


@pytest.mark.slow("each of them, inside the program and on the host, with memory and with opponents' seats")
@pytest.mark.parametrize(
    ("name", "env", "settings"),
    [
        ("a2c", "cartpole", {"memory": 4}),
        ("a2c", "gym:Pendulum-v1", {"normalize_obs": True, "normalize_reward": True}),
        ("impala", "gym:CartPole-v1", {"memory": 4}),
        ("pg", "cartpole", {}),
        ("pg", "tests.envs.host_probes:TrueEnd", {}),
    ],
)
def test_the_laws_of_other_learners(name, env, settings):
    check_learner(learner(name, env, envs=4, unroll=12, widths=(8,), **settings), HPARAMS, steps=96)


def test_a_changed_limit_acts_at_once_and_compiles_nothing():
    made = learner("impala", envs=4, unroll=8, widths=(8,))
    plain, half = (train(made, [hparams], steps=96)[1][0].digest for hparams in ({}, {"rho_bar": 0.5}))
    assert plain != half
    assert len(made.runner.programs) == len(learner("impala", envs=4, unroll=8, widths=(8,)).runner.programs)


def test_rollouts_in_which_episodes_need_not_end_are_refused():
    made = learner("pg", "gym:CartPole-v1", unroll=200)
    with pytest.raises(ValueError, match=r"pg\.unroll=200: an episode may take 500 steps.* set pg\.unroll=500 or more"):
        made.advice(10_000, [{}])
    learner("pg", "gym:CartPole-v1").advice(10_000, [{}])


def test_limits_of_vtrace_that_do_nothing_are_told():
    examples = [{"rho_bar": 1.0}, {"rho_bar": 2.0}]
    (said,) = learner("a2c").advice(10_000, examples)
    assert said == "a2c.rho_bar does nothing without V-trace: set a2c.correct=vtrace"
    assert not learner("impala").advice(10_000, examples)


def test_errors_name_the_section_of_the_learner():
    with pytest.raises(ValueError, match=r"^a2c\.network=cnn is for images"):
        learner("a2c", network="cnn").advice(10_000, [{}])
    with pytest.raises(ValueError, match=r"^impala\.reward\.goal: this environment has a single reward"):
        learner("impala").advice(10_000, [{"reward.goal": 1.0}])


@pytest.mark.slow("each learns CartPole to a mean of 200 over 12 seeds in 131,072 steps")
@pytest.mark.parametrize("name", ["a2c", "impala", "pg"])
def test_they_learn(name):
    _, reports = train(learner(name), [{}] * 12, steps=131_072)
    assert np.mean([report.metrics["score"] for report in reports]) >= 200
