"""Wrappers around JAX envs: time limit, action repeat, frame stack, and scales of observations and rewards.

Each is a JaxEnv around a JaxEnv. A time limit counts the steps of what it wraps, so it goes inside an action repeat.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp

from evolute.envs.flatten import flat_space, flatten
from evolute.envs.interface import JaxEnv, Step, channels_of, stacked_frames_of, time_step_of
from evolute.envs.spaces import scaled_space, stacked_space


class Timed(NamedTuple):
    """A state, and the steps since the reset."""

    inner: Any
    time: jax.Array


class TimeLimit:
    """Truncates episodes after `limit` steps."""

    def __init__(self, env: JaxEnv, limit: int) -> None:
        self._env, self._limit, self.stacked_frames = env, limit, stacked_frames_of(env)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.channels, self.dt = channels_of(env), time_step_of(env)

    def reset(self, key: jax.Array) -> tuple[Timed, jax.Array]:
        inner, obs = self._env.reset(key)
        return Timed(inner, jnp.int32(0)), obs

    def step(self, key: jax.Array, state: Timed, action: jax.Array) -> Step:
        step = self._env.step(key, state.inner, action)
        time = state.time + 1
        return step._replace(state=Timed(step.state, time), truncated=step.truncated | (time >= self._limit))


class ActionRepeat:
    """Takes every action `times` times, or until the episode ends, and sums the rewards."""

    def __init__(self, env: JaxEnv, times: int) -> None:
        self._env, self._times, step = env, times, time_step_of(env)
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.channels, self.dt = channels_of(env), None if step is None else times * step

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        return self._env.reset(key)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        def again(so_far: Step, key: jax.Array) -> tuple[Step, None]:
            ended = so_far.terminated | so_far.truncated
            more = self._env.step(key, so_far.state, action)
            more = more._replace(reward=so_far.reward + more.reward)
            return jax.tree.map(lambda old, new: jnp.where(ended, old, new), so_far, more), None

        keys = jax.random.split(key, self._times)
        return jax.lax.scan(again, self._env.step(keys[0], state, action), keys[1:])[0]


class Stacked(NamedTuple):
    """A state, and the last observations, the oldest first."""

    inner: Any
    obs: jax.Array


class FrameStack:
    """Shows the last `count` observations along the last axis, the newest last; at a reset the first one `count` times."""

    def __init__(self, env: JaxEnv, count: int) -> None:
        self._env, self._count, self.stacked_frames = env, count, count
        self.observation_space: gymnasium.Space[Any] = stacked_space(env.observation_space, count)
        self.action_space, self.channels, self.dt = env.action_space, channels_of(env), time_step_of(env)

    def reset(self, key: jax.Array) -> tuple[Stacked, jax.Array]:
        inner, obs = self._env.reset(key)
        obs = jnp.concatenate([obs] * self._count, axis=-1)
        return Stacked(inner, obs), obs

    def step(self, key: jax.Array, state: Stacked, action: jax.Array) -> Step:
        step = self._env.step(key, state.inner, action)
        obs = jnp.concatenate([state.obs[..., step.obs.shape[-1] :], step.obs], axis=-1)
        return step._replace(state=Stacked(step.state, obs), obs=obs)


class Scale:
    """Multiplies observations and rewards by constants. Scaled observations are float32."""

    def __init__(self, env: JaxEnv, *, obs: float = 1.0, reward: float = 1.0) -> None:
        self._env, self._obs, self._reward = env, obs, reward
        self.stacked_frames = stacked_frames_of(env)
        self.observation_space: gymnasium.Space[Any] = scaled_space(env.observation_space, obs)
        self.action_space, self.channels, self.dt = env.action_space, channels_of(env), time_step_of(env)

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        state, obs = self._env.reset(key)
        return state, self._scaled(obs)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        step = self._env.step(key, state, action)
        return step._replace(obs=self._scaled(step.obs), reward=step.reward * self._reward)

    def _scaled(self, obs: jax.Array) -> jax.Array:
        return obs if self._obs == 1.0 else obs.astype(jnp.float32) * self._obs


class Flat:
    """Shows any supported observation as one array, see `flatten`."""

    def __init__(self, env: JaxEnv) -> None:
        self._env = env
        self.observation_space: gymnasium.Space[Any] = flat_space(env.observation_space)
        self.action_space, self.channels, self.dt = env.action_space, channels_of(env), time_step_of(env)

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        state, obs = self._env.reset(key)
        return state, flatten(self._env.observation_space, obs, jnp)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        step = self._env.step(key, state, action)
        return step._replace(obs=flatten(self._env.observation_space, step.obs, jnp))


def innermost(env: JaxEnv, state: Any) -> tuple[JaxEnv, Any]:
    """What all wrappers are around, and its part of a state."""
    while isinstance(env, (TimeLimit, ActionRepeat, FrameStack, Scale, Flat)):
        state = state.inner if isinstance(env, (TimeLimit, FrameStack)) else state
        env = env._env
    return env, state
