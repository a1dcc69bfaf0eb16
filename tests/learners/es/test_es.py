"""Evolution strategies as a learner: its laws, its gradient, what it learns, exports and refuses."""

from __future__ import annotations

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from benchmarks.evolution_strategies import steps_until_solved
from tests.learners.ppo.training import played, train

import evolute
from evolute.config.error import ConfigError
from evolute.core.order import Order, Ref
from evolute.core.worker import Worker
from evolute.envs.spec import EnvSpec
from evolute.learners.es import es
from evolute.learners.es.generation import Inputs, Row, blank, centred_ranks, generation
from evolute.learners.es.settings import ESSettings
from evolute.learners.kit.stacking import key_data
from evolute.policy import load
from evolute.testing import check_learner
from evolute.testing.memory import MemoryStates

SMALL = {"candidates": 8, "widths": (8,), "score_episodes": 5, "devices": 2}


@cache
def learner(env, **settings):
    """The same learner for the same settings, so that tests share compiled programs."""
    return es(env=EnvSpec(env), settings=ESSettings(**{**SMALL, **settings}))


def test_the_laws_of_a_learner():
    check_learner(learner("cartpole"), [{"lr": 0.1}, {"lr": 0.01, "sigma": 0.5}, {"decay": 0.1}], steps=300)


@pytest.mark.slow("the laws with normalised observations, several episodes, images, and continuous actions")
@pytest.mark.parametrize(
    ("env", "settings"),
    [
        ("gymnax:Pendulum-v1", {"normalize_obs": True, "episodes": 2}),
        ("gymnax:Breakout-MinAtar", {}),
    ],
)
def test_the_laws_elsewhere(env, settings):
    check_learner(learner(env, **settings), [{"lr": 0.1}, {"sigma": 0.5}], steps=300)


def test_ranks_are_centred_and_equal_returns_share_theirs():
    assert centred_ranks(jnp.array([3.0, 1.0, 2.0])).tolist() == [0.5, -0.5, 0.0]
    assert centred_ranks(jnp.array([5.0, 5.0, 5.0, 5.0])).tolist() == [0.0] * 4
    assert centred_ranks(jnp.array([1.0, 9.0, 9.0])).tolist() == pytest.approx([-0.5, 0.25, 0.25])


def test_a_generation_steps_along_the_perturbations_by_their_ranks():
    made = learner("tests.envs.probes:action_choice")
    spec = made._spec(made._full({}))
    (state,) = made.init([Order(0, 0, {}, steps=1, seed=3)])
    inputs = Inputs(key_data(5), np.array([0.01, 0.1, 0.0, 0.0], np.float32), np.int32(1))
    after = generation(spec, made.env, Row(state.train, blank()), inputs)
    drawing, _ = jax.random.split(jax.random.fold_in(jax.random.wrap_key_data(jnp.array(key_data(5))), 0))
    half = np.asarray(jax.random.normal(drawing, (4, len(state.train.adam.weights))))
    shifts = np.concatenate([half, -half])
    tree, actions = made.dump(state), []
    for shift in shifts:
        weights = state.train.adam.weights + np.float32(0.1) * shift
        policy = made.policy({**tree, "adam": {**tree["adam"], "weights": weights}})
        actions.append(float(policy(np.zeros(1, np.float32), greedy=True)))
    returns = [1.0 if action == 1 else -1.0 for action in actions]
    assert len(set(returns)) == 2
    ascent = np.asarray(centred_ranks(jnp.array(returns))) @ shifts
    moved = np.asarray(after.train.adam.weights) - state.train.adam.weights
    np.testing.assert_allclose(moved, 0.01 * np.sign(ascent), atol=1e-5)  # the first step of Adam is lr in each direction
    assert (int(after.stats.used), int(after.stats.generations)) == (8, 1)
    assert float(after.stats.mean) == pytest.approx(np.mean(returns))


def test_it_learns_which_action_is_rewarded_and_what_it_has_learnt_is_exported(tmp_path):
    made = learner("cartpole")
    worker, reports = train(made, ({"lr": 0.1},), turns=1, steps=20_000)
    assert reports[0].metrics["score"] > 150
    assert reports[0].metrics["score_error"] >= 0
    assert reports[0].steps >= 20_000
    assert reports[0].metrics["generations"] >= 2
    assert played(made, worker, Ref(0, 0)) > 150
    policy = made.policy(worker.dump(Ref(0, 0)))
    policy.save(tmp_path / "policy.npz")
    again = load(tmp_path / "policy.npz")
    for obs in np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32):
        assert again(obs, greedy=True) == policy(obs, greedy=True)


def test_a_turn_that_is_not_finite_fails():
    worker = Worker(learner("cartpole"), MemoryStates())
    report = worker.train([Order(0, 0, {"lr": 1e38, "sigma": 1e-30}, steps=3000, seed=1)])[0]
    assert report.failed
    assert "es.lr or es.sigma may be too high" in report.reason


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"env": "gym:CartPole-v1"}, "es is for JAX environments, and gym:CartPole-v1 is stepped on the host"),
        ({"env": "cartpole", "es": {"candidates": 7}}, "candidates=7: must be even"),
        ({"env": "cartpole", "es": {"network": "cnn"}}, "es.network=cnn is for images"),
    ],
)
def test_what_it_cannot_do_is_refused(tmp_path, given, said):
    with pytest.raises(ConfigError, match=said):
        evolute.run("es", space={"lr": evolute.Float(0.01, 0.1)}, folder=tmp_path / "run", display="none", **given)


@pytest.mark.slow("10 seeds of CartPole with up to 1.2M steps each: 8 must reach a mean return of 475")
def test_cartpole_is_solved():
    assert sum(steps is not None for steps in steps_until_solved(10)) >= 8
