"""One Gymnasium env by its name, with its wrappers, for learners that step their environments themselves."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, SupportsFloat

import gymnasium
import numpy as np

from evolute.core.names import resolve
from evolute.envs.catalog import SOURCES
from evolute.envs.from_maker import call_maker
from evolute.envs.jax_wrappers import scaled_space
from evolute.envs.spec import EnvSpec

SINGLE = ("gym", "atari", "dm_control", "minatar")
"""Sources whose envs are single Gymnasium envs."""
Env = gymnasium.Env[Any, Any]


def resolve_gymnasium_name(name: str) -> str:
    """What a name means to such a learner: a bare id is one of Gymnasium's."""
    source, colon, _ = name.partition(":")
    if not colon:
        return f"gym:{name}"
    if source in SOURCES and source not in SINGLE:
        raise ValueError(f"{name} has no single Gymnasium envs, which this learner needs; it takes {', '.join(SINGLE)}")
    return name


def gymnasium_maker(spec: EnvSpec) -> Callable[[], Env]:
    """What makes the env that a spec describes, but for stacked frames."""
    return lambda: _wrapped(_made(spec), spec)


def _made(spec: EnvSpec) -> Env:
    source, _, rest = spec.name.partition(":")
    if source in SINGLE:
        limit = {"max_episode_steps": spec.time_limit} if spec.time_limit and source == "gym" else {}
        env: Env = importlib.import_module(f"evolute.envs.{source}").single(rest, {**spec.options, **limit})
        return env if limit else _limited(env, spec.time_limit)
    made = call_maker(spec.name, resolve("envs", spec.name), spec.options)
    if not isinstance(made, gymnasium.Env):
        raise ValueError(f"environment {spec.name!r} made a {type(made).__name__}: this learner needs a gymnasium.Env")
    return _limited(made, spec.time_limit)


def _limited(env: Env, limit: int | None) -> Env:
    return env if limit is None else gymnasium.wrappers.TimeLimit(env, limit)


def _wrapped(env: Env, spec: EnvSpec) -> Env:
    if spec.action_repeat > 1:
        env = _Repeat(env, spec.action_repeat)
    if spec.obs_scale != 1:
        if not isinstance(env.observation_space, gymnasium.spaces.Box):
            raise ValueError(
                f"wrap.obs_scale={spec.obs_scale}: observations are {env.observation_space}, and only a Box is scaled"
            )
        scale, space = np.float32(spec.obs_scale), scaled_space(env.observation_space, spec.obs_scale)
        env = gymnasium.wrappers.TransformObservation(env, lambda obs: obs.astype(np.float32) * scale, space)
    if spec.reward_scale != 1:
        env = gymnasium.wrappers.TransformReward(env, lambda reward: float(reward) * spec.reward_scale)
    return env


class _Repeat(gymnasium.Wrapper[Any, Any, Any, Any]):
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
