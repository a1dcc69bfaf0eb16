"""Wrappers around host envs: frame stack, and scales of observations and rewards.

They act on whole vectors. Time limits and action repeats decide when a single env resets, so the adapters do those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.interface import HostEnv, Separable, Vector, stacked_frames_of, time_step_of
from evolute.envs.spaces import scaled_space, stacked_space

Array = np.ndarray[Any, Any]


def frame_stack(env: HostEnv, count: int) -> HostEnv:
    """Show the last `count` observations along the last axis, the newest last; at a reset the first one `count` times."""
    return _wrapped(env, stacked_space(env.observation_space, count), count, lambda vector: _FrameStack(vector, count))


def scale(env: HostEnv, *, obs: float = 1.0, reward: float = 1.0) -> HostEnv:
    """Multiply observations and rewards by constants. Scaled observations are float32."""
    frames = stacked_frames_of(env)
    return _wrapped(env, scaled_space(env.observation_space, obs), frames, lambda vector: _Scale(vector, obs, reward))


def _wrapped(env: HostEnv, space: gymnasium.Space[Any], frames: int, wrap: Callable[[Vector], Vector]) -> HostEnv:
    return _WrappedCopies(env, space, frames, wrap) if isinstance(env, Separable) else _Wrapped(env, space, frames, wrap)


class _Wrapped:
    def __init__(self, env: HostEnv, space: gymnasium.Space[Any], frames: int, wrap: Callable[[Vector], Vector]) -> None:
        self._env, self._wrap, self.stacked_frames = env, wrap, frames
        self.observation_space, self.action_space, self.time_limit = space, env.action_space, env.time_limit
        self.dt = time_step_of(env)

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        return self._wrap(self._env.vector(seeds))


class _WrappedCopies:
    """A wrapped env whose copies can be stepped anywhere, as they could without the wrapper."""

    def __init__(self, env: Separable, space: gymnasium.Space[Any], frames: int, wrap: Callable[[Vector], Vector]) -> None:
        self._env, self._wrap, self.stacked_frames = env, wrap, frames
        assert isinstance(env, HostEnv)
        self._together: HostEnv = env
        self.observation_space, self.action_space, self.time_limit = space, env.action_space, env.time_limit
        self.dt = time_step_of(env)

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        return self._wrap(self._together.vector(seeds))

    def row(self, seed: int) -> Vector:
        return self._wrap(self._env.row(seed))


class _FrameStack:
    def __init__(self, vector: Vector, count: int) -> None:
        self._vector, self._count = vector, count
        self._obs = self._ended = np.zeros(0)

    @property
    def failures(self) -> Mapping[int, Exception]:
        return self._vector.failures

    def reset(self) -> Array:
        obs = self._vector.reset()
        self._obs, self._ended = np.concatenate([obs] * self._count, axis=-1), np.zeros(len(obs), bool)
        return self._obs

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        obs, rewards, terminated, truncated = self._vector.step(actions)
        stack = np.concatenate([self._obs[..., obs.shape[-1] :], obs], axis=-1)
        if self._ended.any():
            stack[self._ended] = np.concatenate([obs[self._ended]] * self._count, axis=-1)
        self._obs, self._ended = stack, terminated | truncated
        return stack, rewards, terminated, truncated

    def close(self) -> None:
        self._vector.close()


class _Scale:
    def __init__(self, vector: Vector, obs: float, reward: float) -> None:
        self._vector, self._obs, self._reward = vector, np.float32(obs), np.float32(reward)

    @property
    def failures(self) -> Mapping[int, Exception]:
        return self._vector.failures

    def reset(self) -> Array:
        return self._scaled(self._vector.reset())

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        obs, rewards, terminated, truncated = self._vector.step(actions)
        return self._scaled(obs), rewards * self._reward, terminated, truncated

    def close(self) -> None:
        self._vector.close()

    def _scaled(self, obs: Array) -> Array:
        return obs if self._obs == 1 else obs.astype(np.float32) * self._obs
