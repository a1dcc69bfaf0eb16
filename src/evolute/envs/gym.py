"""Any environment registered with Gymnasium, stepped on the host: `gym:CartPole-v1`."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

import gymnasium
from gymnasium.vector import VectorEnv

from evolute.core.names import closest
from evolute.envs.gym_cartpole import ENTRY_POINT, GymCartPole
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.host_vector import VectorHostEnv
from evolute.envs.interface import HostEnv
from evolute.envs.library_warnings import known_warnings_ignored

_PACKAGES = {"box2d": "Box2D", "mujoco": "mujoco"}  # what the parts of Gymnasium need, by their extra
ATTACHED = {("ALE/", "/"): ("ale_py", "atari"), ("/", "BulletEnv-v0"): ("pybullet_envs_gymnasium", "pybullet")}
"""Ids that another library registers when it is imported, by how they begin or end: that library, and its extra."""


def gym(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """The fastest way to step many copies: the vectorised version of an env if it has one, else a loop over single ones.

    `time_limit` replaces the registered one. Actions can be repeated in single envs only.
    """
    spec = registered(name)
    limit = time_limit or spec.max_episode_steps
    if action_repeat == 1 and spec.vector_entry_point == ENTRY_POINT and limit:
        return GymCartPole({**spec.kwargs, **options}, time_limit=limit)
    settings = {**options, "max_episode_steps": time_limit} if time_limit else dict(options)
    if action_repeat == 1 and spec.vector_entry_point is not None:

        def vector(count: int) -> VectorEnv[Any, Any, Any]:
            return gymnasium.make_vec(name, count, "vector_entry_point", **settings)

        return VectorHostEnv(vector, time_limit=limit)
    return SyncHostEnv(lambda: single(name, settings), action_repeat=action_repeat)


def single(name: str, options: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """One env, as for watching it; a missing dependency is told in one sentence."""
    try:
        with known_warnings_ignored(str(registered(name).entry_point)):
            return gymnasium.make(name, disable_env_checker=True, **options)
    except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
        raise ValueError(_missing(name, error)) from error


def registered(name: str) -> gymnasium.envs.registration.EnvSpec:
    """The registration of an id; `module:id` imports the module that registers it."""
    module, _, name = name.rpartition(":")
    if module:
        _import(module, name)
    if name not in gymnasium.registry:
        _attach(name)
    if name not in gymnasium.registry:
        raise ValueError(f"Gymnasium has no environment {name!r}{closest(name, gymnasium.registry)}")
    return gymnasium.registry[name]


def _import(module: str, name: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"gym:{module}:{name}: there is no module {error.name!r} to import") from error


def _attach(name: str) -> None:
    """Import the library that registers an id, if it is one of those."""
    for (start, end), (library, extra) in ATTACHED.items():
        if name.startswith(start) or name.endswith(end):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    gymnasium.register_envs(importlib.import_module(library))
            except ModuleNotFoundError as error:
                raise ValueError(_advice(name, str(error.name), extra)) from error


def _missing(name: str, error: Exception) -> str:
    entry = str(registered(name).entry_point)
    extra = next((extra for extra in _PACKAGES if entry.startswith(f"gymnasium.envs.{extra}")), None)
    if extra is None:
        return f"{name} needs a package that is not installed: {error}"
    package = error.name if isinstance(error, ModuleNotFoundError) else None
    return _advice(name, package or _PACKAGES[extra], extra)


def _advice(name: str, package: str, extra: str) -> str:
    return f"{name} needs {package}, which is not installed; pip install 'evolute[{extra}]'"
