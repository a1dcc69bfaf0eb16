"""DeepMind's control suite, stepped on the host: `dm_control:cheetah-run`. EnvPool has the same tasks in C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.gymnasium_wrappers import time_limited
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.interface import HostEnv

LIBRARY = Library(("dm_control",), "dm_control", "dm_control:cheetah-run", "DeepMind's control suite")
LENGTH = 1000
"""Steps of an episode of the suite."""


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """A task of the suite, as `domain-task`. Its observations are concatenated to one vector."""
    limit = min(time_limit or LENGTH, LENGTH)
    return SyncHostEnv(lambda: single(name, options, time_limit=limit), action_repeat=action_repeat)


def single(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> gymnasium.Env[Any, Any]:
    """One env; `options` are those of the task."""
    if name not in ids():
        raise ValueError(f"dm_control has no task {name!r}{closest(name, ids())}")
    return time_limited(_Task(name, options), time_limit)


def ids() -> tuple[str, ...]:
    """All tasks of the suite."""
    return tuple(f"{domain}-{task}" for domain, task in _suite().ALL_TASKS)


class _Task(gymnasium.Env[np.ndarray[Any, Any], np.ndarray[Any, Any]]):
    """A task as a Gymnasium env. Episodes are truncated at their time limit; few tasks end before it."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - Gymnasium's way

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self._name, self._options = name, dict(options)
        self.render_mode = self._options.pop("render_mode", None)
        self._env = self._loaded(0)
        self.dt = float(self._env.control_timestep())
        actions = self._env.action_spec()
        self.action_space = gymnasium.spaces.Box(
            np.asarray(actions.minimum, np.float32), np.asarray(actions.maximum, np.float32), actions.shape, np.float32
        )
        width = sum(int(np.prod(part.shape)) for part in self._env.observation_spec().values())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (width,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray[Any, Any], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._env = self._loaded(seed)
        return _flat(self._env.reset()), {}

    def step(self, action: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], float, bool, bool, dict[str, Any]]:
        moved = self._env.step(action)
        terminated = bool(moved.last() and moved.discount == 0)
        return _flat(moved), float(moved.reward), terminated, bool(moved.last()) and not terminated, {}

    def render(self) -> Any:
        return self._env.physics.render(camera_id=0)

    def _loaded(self, seed: int) -> Any:
        domain, _, task = self._name.partition("-")
        return _suite().load(domain, task, task_kwargs={**self._options, "random": seed})


def _flat(step: Any) -> np.ndarray[Any, Any]:
    return np.concatenate([np.ravel(part) for part in step.observation.values()]).astype(np.float32)


def _suite() -> Any:
    return LIBRARY.load("dm_control.suite")


dm_control = Adapter(library=LIBRARY, ids=ids, host=host, single=single)
