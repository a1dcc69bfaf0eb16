from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from twins import compare

from evolute.envs.adapters.gymnax import SAME, GymnaxEnv, ids

BODIES = {
    "CartPole-v1": ("x", "x_dot", "theta", "theta_dot"),
    "Acrobot-v1": ("joint_angle1", "joint_angle2", "velocity_1", "velocity_2"),
    "MountainCar-v0": ("position", "velocity"),
    "MountainCarContinuous-v0": ("position", "velocity"),
    "Pendulum-v1": ("theta", "theta_dot"),
}


@pytest.mark.parametrize("name", SAME)
def test_ids_that_gymnasium_has_too_mean_the_same(name):
    def body(state):
        return [getattr(state, part) for part in BODIES[name]]

    assert compare(GymnaxEnv(name, {}), name, body, seed=1, tolerance=2e-3 if name == "Acrobot-v1" else 1e-4) > 8


@pytest.mark.parametrize("name", ["Breakout-MinAtar", "FourRooms-misc", "FrozenLake-misc", "Catch-bsuite"])
def test_observations_lie_in_their_space_and_a_state_can_be_carried_through_a_loop(name):
    env = GymnaxEnv(name, {})
    state, obs = env.reset(jax.random.key(0))
    last, steps = scan(env, state, action=0, length=5)
    assert obs.shape == env.observation_space.shape
    if isinstance(env.observation_space, Box):
        assert obs.dtype == steps.obs.dtype == env.observation_space.dtype
    assert [leaf.dtype for leaf in jax.tree.leaves(state)] == [leaf.dtype for leaf in jax.tree.leaves(last)]
    assert (steps.reward.dtype, steps.terminated.dtype, steps.truncated.dtype) == (jnp.float32, jnp.bool_, jnp.bool_)


def test_spaces_are_gymnasiums():
    assert GymnaxEnv("Breakout-MinAtar", {}).observation_space == Box(0.0, 1.0, (10, 10, 4))
    assert GymnaxEnv("Pendulum-v1", {}).action_space == Box(-2.0, 2.0, (1,))
    assert GymnaxEnv("FrozenLake-misc", {}).observation_space == Discrete(16)


def test_the_time_limit_truncates_and_a_fall_terminates():
    def flags(env, action):
        state, _ = env.reset(jax.random.key(0))
        _, steps = scan(env, state, action=action, length=12)
        return np.flatnonzero(steps.terminated)[:1].tolist(), np.flatnonzero(steps.truncated)[:1].tolist()

    fallen, cut = flags(GymnaxEnv("CartPole-v1", {}), 1)
    assert (5 < fallen[0] < 12, cut) == (True, [])
    assert flags(GymnaxEnv("CartPole-v1", {}, time_limit=4), 1) == (fallen, [3])


def test_parameters_are_options():
    slow, quick = (GymnaxEnv("CartPole-v1", {"tau": tau}) for tau in (0.01, 0.02))
    state, obs = quick.reset(jax.random.key(0))
    moved = [float(abs(env.step(jax.random.key(0), state, 1).obs - obs).max()) for env in (slow, quick)]
    assert moved[1] == pytest.approx(2 * moved[0], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("Breakout-Minatar", {}, "did you mean 'Breakout-MinAtar'"),
        ("CartPole-v1", {"taue": 1.0}, "gymnax:CartPole-v1 has no parameter 'taue'; did you mean 'tau'"),
    ],
)
def test_what_is_not_there_is_told(name, options, says):
    with pytest.raises(ValueError, match=says):
        GymnaxEnv(name, options)


def test_data_that_cannot_be_had_is_told(monkeypatch):
    def fail(name):
        raise OSError("no route to host")

    monkeypatch.setattr("gymnax.make", fail)
    with pytest.raises(ValueError, match=r"gymnax:MNISTBandit-bsuite downloads data .*no route to host"):
        GymnaxEnv("MNISTBandit-bsuite", {})


def test_knows_many_names():
    assert {"Seaquest-MinAtar", *SAME} <= set(ids())


def scan(env, state, *, action, length):
    """The last state and all steps of taking one action again and again."""

    def step(state, key):
        taken = env.step(key, state, action)
        return taken.state, taken

    return jax.lax.scan(step, state, jax.random.split(jax.random.key(1), length))
