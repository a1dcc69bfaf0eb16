"""Wrappers around single Gymnasium envs: time limit, action repeat, and scales of observations and rewards."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from evolute.envs.spaces import scaled_space
from evolute.envs.spec import EnvSpec

Env = gymnasium.Env[Any, Any]


def time_limited(env: Env, limit: int | None) -> Env:
    """The env, truncated after `limit` steps if there is a limit."""
    return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)


def wrapped(env: Env, spec: EnvSpec) -> Env:
    """The env with the spec's action repeat and scales."""
    if spec.action_repeat > 1:
        env = _ActionRepeat(env, spec.action_repeat)
    if spec.obs_scale != 1:
        if not isinstance(env.observation_space, gymnasium.spaces.Box):
            raise ValueError(
                f"wrap.obs_scale={spec.obs_scale}: observations are {env.observation_space}, and only a Box can be scaled"
            )
        scale, space = np.float32(spec.obs_scale), scaled_space(env.observation_space, spec.obs_scale)
        env = gymnasium.wrappers.TransformObservation(env, lambda obs: obs.astype(np.float32) * scale, space)
    if spec.reward_scale != 1:
        env = gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) * spec.reward_scale)
    return env


class _ActionRepeat(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Takes each action several times and sums the rewards."""

    def __init__(self, env: Env, times: int) -> None:
        super().__init__(env)
        self._times = times

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        total = 0.0
        for _ in range(self._times):
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
        return obs, total, terminated, truncated, info
