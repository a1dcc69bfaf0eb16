"""Discounts for seconds: what steps of unequal lengths are worth, by the formulas written out and in environments."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from tests.learners.ppo.test_vtrace import brute_force, fragment, settings
from tests.learners.ppo.training import learner, train

from evolute.core.order import Order
from evolute.core.protocols import silently
from evolute.envs.spec import EnvSpec, GameSpec
from evolute.learners.ppo import gae, returns, rollout, vtrace

SMALL = {"envs": 4, "unroll": 8, "minibatches": 1, "widths": (8,), "epochs": 1}
CLOCKED = "tests.games.small_games:Clocked"


def timed(seed, per=0.5, discount=0.9):
    """A fragment whose steps took unequal times, the values after it, and settings; also the time of each step."""
    rng = np.random.default_rng(seed)
    h = settings(discount=discount, gae_lambda=0.8, rho_bar=1.5, c_bar=0.7)
    played, last = fragment(rng, 12, 20)
    elapsed = rng.choice([0.0, 0.02, 0.5, 3.0], size=(12, 20))
    return played._replace(discount=rollout.discounts_over(elapsed, per, h)), last, h, elapsed


def test_a_step_is_discounted_by_the_time_that_it_took():
    with jax.enable_x64(True):
        played, _, h, elapsed = timed(0)
        np.testing.assert_allclose(played.discount, 0.9 ** (elapsed / 0.5), rtol=1e-12)
        both = rollout.discounts_over(elapsed, 0.5, h._replace(channel_discounts=np.array([0.9, 0.5])))
        np.testing.assert_allclose(both[..., 1], 0.5 ** (elapsed / 0.5), rtol=1e-12)
        np.testing.assert_array_equal(rollout.discounts_over(np.full(3, 0.5), 0.5, h), np.full(3, 0.9))


def test_vtrace_and_advantages_are_sums_over_steps_of_unequal_lengths():
    with jax.enable_x64(True):
        played, last, h, _ = timed(1)
        found = jax.jit(vtrace.corrected)(played, last, h)
        target, advantage, _ = brute_force(played, last, h)
        np.testing.assert_allclose(found[0], advantage, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found[1], target, rtol=0, atol=1e-12)
        own, plain = played._replace(log_ratio=np.zeros_like(played.reward)), h._replace(rho_bar=1.0, c_bar=1.0)
        np.testing.assert_allclose(gae.advantages(own, last, h), brute_force(own, last, plain)[1], rtol=0, atol=1e-12)
        without = brute_force(own._replace(discount=()), last, plain)[1]
        assert np.abs(without - gae.advantages(own, last, h)).max() > 0.1


def test_returns_of_a_policy_gradient_are_sums_over_steps_of_unequal_lengths():
    with jax.enable_x64(True):
        played, _, h, _ = timed(2)
        found, known = returns.advantages(played, h)
        wanted = np.zeros_like(played.reward)
        for time in reversed(range(12)):
            after = wanted[time + 1] if time < 11 else 0
            wanted[time] = played.reward[time] + played.discount[time] * (1 - played.ends[time]) * after
        wanted -= np.sum(wanted * known) / np.sum(known)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


def test_the_scale_of_rewards_goes_by_returns_over_time():
    played, _, h, _ = timed(3)
    made = learner("cartpole", **{**SMALL, "envs": 20, "unroll": 12})
    spec, state = made._spec(made._full({})), made.init([Order(0, 0, {}, seed=1)])[0]
    first = np.concatenate([np.ones((1, 20)), played.ends[:-1]])
    played = jax.tree.map(np.float32, played._replace(obs=np.zeros((12, 20, 4)), first=first))
    h = jax.tree.map(np.float32, h._replace(normalize_reward=1))
    running = rollout.normalised(spec, state.train, played, np.zeros(20, np.float32), h)[2]
    wanted = np.zeros(20)
    for time in range(12):
        wanted = wanted * played.discount[time] * (1 - first[time]) + played.reward[time]
    np.testing.assert_allclose(running, wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("env", "step"),
    [
        ("cartpole", 0.02),
        (EnvSpec("cartpole", action_repeat=3, frame_stack=2), 0.06),
        ("gym:CartPole-v1", 0.02),
        ("gym:Pendulum-v1", 0.05),
        (EnvSpec("gym:Pendulum-v1", action_repeat=2, reward_scale=0.1), 0.1),
    ],
)
def test_where_steps_always_take_as_long_discounts_are_converted_once(env, step):
    made = learner(env, discount_per=1.0, discount=0.5, **SMALL)
    assert made.time_step == pytest.approx(step)
    spec = made._spec(made._full({}))
    assert spec.discount_per is None
    given = made._assignment(spec, Order(0, 0, {}, steps=8), made._full({}), None, silently).hparams
    assert given.discount == pytest.approx(0.5**step, rel=1e-6)
    assert learner(env, **SMALL).time_step is None


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ("gym:MountainCar-v0", r"ppo\.discount_per=2: nothing tells how long a step of gym:MountainCar-v0 takes; games with"),
        ("tests.games.small_games:Limited", "nothing tells how long a step of tests.games.small_games:Limited takes"),
        (EnvSpec("pong", game=GameSpec()), "games with opponents tell no time"),
    ],
)
def test_an_environment_that_tells_no_time_is_refused(env, said):
    with pytest.raises(ValueError, match=said):
        learner(env, discount_per=2.0)


def test_a_game_that_is_not_repeatable_has_its_time_measured():
    made = learner("tests.games.small_games:Hasty", discount_per=2.0, **SMALL)
    assert made._spec(made._full({})).discount_per == 2.0


def test_a_member_learns_by_the_games_clock_at_any_pace():
    def digest(**settings):
        return train(learner(CLOCKED, **{**SMALL, "normalize_reward": True, **settings}), steps=96)[1][0].digest

    together = digest(pace="step", discount_per=0.5)
    assert digest(pace="rollout", discount_per=0.5) == together
    assert digest(pace="rollout") != together


@pytest.mark.slow("a free turn by the game's clock, with V-trace")
def test_a_free_turn_takes_the_time_along():
    made = learner(CLOCKED, pace="free", discount_per=0.5, **SMALL)
    plain = learner(CLOCKED, pace="free", **SMALL)
    assert replace(made._spec(made._full({})), discount_per=None) == plain._spec(plain._full({}))
    (report,) = train(made, steps=96)[1]
    assert report.metrics["return"] == 6
