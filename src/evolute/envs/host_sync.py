"""Plain Gymnasium envs stepped one after another: any env works, and one that raises does not stop the others."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from evolute.envs.flatten import flat_space, flatten, is_flat, mismatch
from evolute.envs.interface import Vector, time_step_of
from evolute.envs.spaces import supported

Array = np.ndarray[Any, Any]
_Result = tuple[SupportsFloat, bool, bool]  # reward, terminated, truncated
_STARTED: _Result = (0.0, False, False)


class SyncHostEnv:
    """A HostEnv of single envs, each made by a call of `make` and seeded by itself.

    Their observations are made of `frames`, see `WithFrames`.
    """

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]], *, action_repeat: int = 1, frames: int = 1) -> None:
        self._make, self._repeat = make, action_repeat
        self.stacked_frames = frames if action_repeat == 1 else 1  # a repeated action moves them on by several
        env = make()
        supported(env.observation_space, env.action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(env.observation_space)
        self.action_space: gymnasium.Space[Any] = env.action_space
        limit = env.spec and env.spec.max_episode_steps
        self.time_limit = math.ceil(limit / action_repeat) if limit else None
        step = time_step_of(env.unwrapped)
        self.dt = None if step is None else step * action_repeat
        env.close()

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        rows = [int(seed) for member in seeds for seed in member]
        return _Serial([self._make() for _ in rows], rows, self._repeat)

    def row(self, seed: int) -> Vector:
        return self.vector([[seed]])


class _Serial:
    """Steps its envs in a loop, quicker than Gymnasium's SyncVectorEnv because it keeps no infos."""

    def __init__(self, envs: Sequence[gymnasium.Env[Any, Any]], seeds: Sequence[int], repeat: int) -> None:
        self._envs, self._seeds, self._repeat = envs, seeds, repeat
        self._space = envs[0].observation_space
        self._flat = is_flat(self._space)
        self._discrete = isinstance(envs[0].action_space, gymnasium.spaces.Discrete)
        box = flat_space(self._space)
        self._obs = np.zeros((len(envs), *box.shape), box.dtype)
        self._results = [_STARTED] * len(envs)
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        for row, seed in enumerate(self._seeds):
            try:
                self._results[row] = self._start(row, seed)
            except Exception as error:  # whatever a user's env raises is that member's failure
                self._fail(row, error)
        return self._obs.copy()

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        results = self._results
        if self._discrete:  # such a space checks an int faster than a numpy integer
            actions = np.asarray(actions).tolist()
        for row, action in enumerate(actions):
            try:
                _, terminated, truncated = results[row]
                if terminated or truncated:
                    results[row] = self._start(row, None)
                elif not self.failures or row not in self.failures:
                    results[row] = self._advance(row, action)
            except Exception as error:  # whatever a user's env raises is that member's failure
                self._fail(row, error)
        rewards, terminations, truncations = zip(*results, strict=True)
        return self._obs.copy(), np.array(rewards, np.float32), np.array(terminations, bool), np.array(truncations, bool)

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _start(self, row: int, seed: int | None) -> _Result:
        obs = self._envs[row].reset(seed=seed)[0]
        if seed is not None:
            self._check(obs)
        self._see(row, obs)
        return _STARTED

    def _advance(self, row: int, action: Any) -> _Result:
        env = self._envs[row]
        obs, reward, terminated, truncated, _ = env.step(action)
        total = reward
        for _ in range(1, self._repeat):
            if terminated or truncated:
                break
            obs, reward, terminated, truncated, _ = env.step(action)
            total = float(total) + float(reward)
        self._see(row, obs)
        return total, terminated, truncated

    def _see(self, row: int, obs: Any) -> None:
        try:
            self._obs[row] = obs if self._flat else flatten(self._space, obs, np)
        except (KeyError, TypeError, ValueError):
            self._check(obs)
            raise

    def _check(self, obs: Any) -> None:
        """Refuse what is not of the space; numpy would broadcast some of it to the right shape without a word."""
        if wrong := mismatch(self._space, obs):
            raise ValueError(f"an observation is not of the environment's observation_space: {wrong}")

    def _fail(self, row: int, error: Exception) -> None:
        self.failures[row] = error
        self._results[row] = (math.nan, False, False)
