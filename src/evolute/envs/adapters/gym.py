"""Any environment registered with Gymnasium, stepped on the host: `gym:CartPole-v1`."""

from __future__ import annotations

import contextlib
import importlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
from gymnasium.envs import registration
from gymnasium.vector import VectorEnv

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.gym_cartpole import ENTRY_POINT, GymCartPole
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.host_vector import VectorHostEnv
from evolute.envs.interface import HostEnv
from evolute.envs.library_warnings import known_warnings_ignored

LIBRARY = Library(("gymnasium",), None, "gym:CartPole-v1", "any registered Gymnasium id")
PARTS = {
    "box2d": Library(("Box2D",), "box2d", "LunarLander-v3", "Gymnasium's Box2D"),
    "mujoco": Library(("mujoco",), "mujoco", "HalfCheetah-v5", "Gymnasium's MuJoCo"),
    "pybullet": Library(("pybullet_envs_gymnasium",), "pybullet", "AntBulletEnv-v0", "PyBullet's robots"),
}
REGISTERED_ON_IMPORT = {r"^ALE/": ("ale_py", "atari"), r"BulletEnv-v0$": ("pybullet_envs_gymnasium", "pybullet")}
"""Patterns of ids that another library registers when it is imported: that library, and its extra."""


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """The fastest way to step many copies: the vectorised version of an env if it has one, else a loop over single ones.

    `time_limit` replaces the registered one. Actions can be repeated only in single envs.
    """
    spec = registered(name)
    with _options_checked(name, options):
        return _host(spec, name, options, time_limit=time_limit, action_repeat=action_repeat)


def _host(
    spec: registration.EnvSpec, name: str, options: Mapping[str, Any], *, time_limit: int | None, action_repeat: int
) -> HostEnv:
    limit = time_limit or spec.max_episode_steps
    if action_repeat == 1 and spec.vector_entry_point == ENTRY_POINT and limit:
        return GymCartPole({**spec.kwargs, **options}, time_limit=limit)
    settings = {**options, "max_episode_steps": time_limit} if time_limit else dict(options)
    if action_repeat == 1 and spec.vector_entry_point is not None:

        def vector(count: int) -> VectorEnv[Any, Any, Any]:
            return gymnasium.make_vec(name, count, "vector_entry_point", **settings)

        return VectorHostEnv(vector, time_limit=limit)
    return SyncHostEnv(lambda: single(name, options, time_limit=time_limit), action_repeat=action_repeat)


def single(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> gymnasium.Env[Any, Any]:
    """One env. `time_limit` replaces the registered one. A missing dependency is a ValueError that says what to install."""
    settings = {**options, "max_episode_steps": time_limit} if time_limit else options
    try:
        with known_warnings_ignored(str(registered(name).entry_point)), _options_checked(name, options):
            return gymnasium.make(name, disable_env_checker=True, **settings)
    except (gymnasium.error.DependencyNotInstalled, ModuleNotFoundError) as error:
        raise ValueError(_missing(name, error)) from error


@contextlib.contextmanager
def _options_checked(name: str, options: Mapping[str, Any]) -> Iterator[None]:
    """Options that an env does not take are a ValueError."""
    try:
        yield
    except TypeError as error:
        unknown = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if unknown is None or unknown[1] not in options:
            raise
        raise ValueError(f"gym.{unknown[1]}: {name} takes no such setting") from error


def registered(name: str) -> registration.EnvSpec:
    """The registration of an id; `module:id` imports the module that registers it."""
    module, _, name = name.rpartition(":")
    if module:
        _import(module, name)
    if name not in gymnasium.registry:
        _import_what_registers(name)
    if name not in gymnasium.registry:
        raise ValueError(f"Gymnasium has no environment {name!r}{closest(name, gymnasium.registry)}")
    return gymnasium.registry[name]


def _import(module: str, name: str) -> None:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ValueError(f"gym:{module}:{name}: there is no module {error.name!r} to import") from error


def ids() -> tuple[str, ...]:
    """All ids that are registered by now."""
    return tuple(gymnasium.registry)


def has(name: str) -> bool:
    """Whether an id is registered, or would be once the library that has it is imported."""
    return name in gymnasium.registry or any(re.search(pattern, name) for pattern in REGISTERED_ON_IMPORT)


def _import_what_registers(name: str) -> None:
    for pattern, (module, extra) in REGISTERED_ON_IMPORT.items():
        if re.search(pattern, name):
            gymnasium.register_envs(Library((module,), extra, name, "").load(module))


def _missing(name: str, error: Exception) -> str:
    entry = str(registered(name).entry_point)
    part = next((part for key, part in PARTS.items() if entry.startswith(f"gymnasium.envs.{key}")), None)
    if part is None:
        return f"{name} needs a package that is not installed: {error}"
    package = error.name if isinstance(error, ModuleNotFoundError) else None
    return f"{name} needs {package or part.modules[0]}, which is not installed; {part.how_to_get}"


gym = Adapter(library=LIBRARY, ids=ids, host=host, single=single, has_gymnasium_id=has, priority=1, parts=PARTS)
