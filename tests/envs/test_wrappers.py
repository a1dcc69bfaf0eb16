"""Wrappers of both kinds: what they do to a JAX env, and that host envs are wrapped alike."""

from __future__ import annotations

import dataclasses

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import probes
import pytest
from gymnasium.spaces import Box, Discrete

from evolute.envs import host_wrappers, jax_wrappers
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.interface import Step
from evolute.envs.make import make_env
from evolute.envs.ours.cartpole import CartPole
from evolute.envs.spec import EnvSpec


class Twin(gymnasium.Env):
    """Our CartPole, stepped on the host by JAX, so that both kinds of wrapper can be given the same episodes."""

    observation_space, action_space = CartPole().observation_space, Discrete(2)

    def __init__(self, time_limit=500):
        self._env = CartPole(time_limit=time_limit)
        self._advance = jax.jit(self._env.step)

    def reset(self, *, seed=None, options=None):
        self._key = jax.random.key(seed) if seed is not None else jax.random.split(self._key)[0]
        self._state, obs = self._env.reset(self._key)
        return np.asarray(obs), {}

    def step(self, action):
        step = self._advance(self._key, self._state, action)
        self._state = step.state
        return np.asarray(step.obs), float(step.reward), bool(step.terminated), bool(step.truncated), {}


def in_jax(env, *, length):
    """Steps with next-step autoreset, and the keys and actions of `on_host`."""
    key, advance = jax.random.key(7), jax.jit(env.step)
    state, obs = env.reset(key)
    seen, rest, ended = [obs], [], False
    for time in range(length):
        if ended:
            key = jax.random.split(key)[0]
            state, obs = env.reset(key)
            row = (0.0, False, False)
        else:
            step = advance(key, state, time // 3 % 2)
            state, obs = step.state, step.obs
            row = (float(step.reward), bool(step.terminated), bool(step.truncated))
        ended = row[1] or row[2]
        seen.append(obs)
        rest.append(row)
    return np.stack(seen), np.array(rest)


def on_host(env, *, length):
    vector = env.vector([[7]])
    seen, rest = [vector.reset()[0]], []
    for time in range(length):
        obs, reward, terminated, truncated = vector.step(np.array([time // 3 % 2]))
        seen.append(obs[0])
        rest.append((reward[0], terminated[0], truncated[0]))
    return np.stack(seen), np.array(rest, float)


ALL = EnvSpec("cartpole", time_limit=9, frame_stack=2, action_repeat=2, obs_scale=2.0, reward_scale=0.1)
JAX = {
    "time limit": lambda: jax_wrappers.TimeLimit(CartPole(), 9),
    "action repeat": lambda: jax_wrappers.ActionRepeat(jax_wrappers.TimeLimit(CartPole(), 9), 4),
    "frame stack": lambda: jax_wrappers.FrameStack(CartPole(), 3),
    "scale": lambda: jax_wrappers.Scale(CartPole(), obs=0.5, reward=-2.0),
    "all": lambda: jax_wrappers.Scale(
        jax_wrappers.FrameStack(jax_wrappers.ActionRepeat(jax_wrappers.TimeLimit(CartPole(), 9), 2), 2), obs=2.0, reward=0.1
    ),
}
HOST = {
    "time limit": lambda: SyncHostEnv(lambda: gymnasium.wrappers.TimeLimit(Twin(), 9)),
    "action repeat": lambda: SyncHostEnv(lambda: gymnasium.wrappers.TimeLimit(Twin(), 9), action_repeat=4),
    "frame stack": lambda: host_wrappers.frame_stack(SyncHostEnv(Twin), 3),
    "scale": lambda: host_wrappers.scale(SyncHostEnv(Twin), obs=0.5, reward=-2.0),
    "all": lambda: make_env(dataclasses.replace(ALL, name="test_wrappers:Twin")),
}


@pytest.mark.parametrize("kind", JAX)
def test_both_kinds_do_the_same(kind):
    ours, theirs = JAX[kind](), HOST[kind]()
    assert ours.observation_space == theirs.observation_space
    obs, rest = in_jax(ours, length=40)
    host_obs, host_rest = on_host(theirs, length=40)
    np.testing.assert_allclose(obs, host_obs, atol=1e-6)
    np.testing.assert_allclose(rest, host_rest, atol=1e-6)
    assert rest[:, 1:].any(), "no episode ended"


def test_a_spec_wraps_a_jax_env_in_that_order():
    for found, built in zip(in_jax(make_env(ALL), length=30), in_jax(JAX["all"](), length=30), strict=True):
        np.testing.assert_allclose(found, built)


def test_a_time_limit_truncates_and_does_not_hide_a_true_end():
    env = jax_wrappers.TimeLimit(probes.true_end(), 10)
    state, _ = env.reset(jax.random.key(0))
    for _ in range(10):
        step = env.step(jax.random.key(0), state, 0)
        state = step.state
    assert (bool(step.terminated), bool(step.truncated)) == (True, True)


def test_repeated_actions_are_rewarded_together_until_the_end():
    env = jax_wrappers.ActionRepeat(probes.true_end(), 4)
    state, _ = env.reset(jax.random.key(0))
    rewards = []
    for _ in range(3):
        step = env.step(jax.random.key(0), state, 0)
        state = step.state
        rewards.append(float(step.reward))
    assert (rewards, bool(step.terminated)) == ([4.0, 4.0, 2.0], True)
    assert step.obs == pytest.approx(1.0)


class Picture:
    """Shows the time in every pixel of a small picture."""

    observation_space, action_space = Box(0, 255, (2, 2, 1), np.uint8), Discrete(2)

    def reset(self, key):
        return jnp.uint8(5), jnp.full((2, 2, 1), 5, jnp.uint8)

    def step(self, key, state, action):
        no = jnp.bool_(False)
        return Step(state + 1, jnp.full((2, 2, 1), state + 1, jnp.uint8), jnp.float32(1), no, no)


def test_images_are_stacked_by_channel():
    env = jax_wrappers.FrameStack(Picture(), 3)
    state, first = env.reset(jax.random.key(0))
    step = env.step(jax.random.key(0), state, 0)
    assert (first[1, 0].tolist(), step.obs[1, 0].tolist(), step.obs.dtype) == ([5, 5, 5], [5, 5, 6], jnp.uint8)
    assert env.observation_space == Box(0, 255, (2, 2, 3), np.uint8)


def test_vectors_are_stacked_end_to_end():
    env = jax_wrappers.FrameStack(probes.discounting(), 2)
    state, first = env.reset(jax.random.key(0))
    assert (first.tolist(), env.step(jax.random.key(0), state, 0).obs.tolist()) == ([0.0, 0.0], [0.0, 1.0])


def test_scaled_bytes_become_numbers():
    env = jax_wrappers.Scale(Picture(), obs=1 / 255)
    obs = env.reset(jax.random.key(0))[1]
    assert (obs.dtype, float(obs.max())) == (jnp.float32, pytest.approx(5 / 255))
    assert env.observation_space == Box(0.0, 1.0, (2, 2, 1))


def test_choices_are_seen_one_hot():
    env = make_env(EnvSpec("gymnax:FrozenLake-misc"))
    obs = env.reset(jax.random.key(0))[1]
    assert (obs.shape, float(obs.sum()), env.observation_space.shape) == ((16,), 1.0, (16,))


@pytest.mark.parametrize(
    "wrong",
    [{"time_limit": 0}, {"frame_stack": 0}, {"action_repeat": -1}, {"obs_scale": 0.0}, {"reward_scale": float("nan")}],
)
def test_settings_that_make_no_sense_are_refused(wrong):
    (setting,) = wrong
    with pytest.raises(ValueError, match=f"{setting}=.*: must be"):
        EnvSpec("cartpole", **wrong)
