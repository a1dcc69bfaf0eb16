"""One Gymnasium env by its name, with its wrappers, for learners that step their environments themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium

from evolute.envs.catalog import adapter_of, adapters
from evolute.envs.gymnasium_wrappers import time_limited, wrapped
from evolute.envs.maker import call_maker, maker_of
from evolute.envs.spec import EnvSpec

Env = gymnasium.Env[Any, Any]


def resolve_gymnasium_name(name: str) -> str:
    """The full name of an env for such a learner: a bare id is one of Gymnasium's."""
    if ":" not in name:
        return f"gym:{name}"
    _check_single(name)
    return name


def gymnasium_maker(spec: EnvSpec) -> Callable[[], Env]:
    """A function that makes the env of a spec, but for its stacked frames."""
    return lambda: wrapped(_made(spec), spec)


def _check_single(name: str) -> None:
    adapter = adapter_of(name)
    if adapter is not None and adapter.single is None:
        usable = ", ".join(source for source, other in adapters().items() if other.single is not None)
        raise ValueError(f"{name} has no single Gymnasium envs, which are needed here; these have: {usable}")


def _made(spec: EnvSpec) -> Env:
    _check_single(spec.name)
    adapter = adapter_of(spec.name)
    if adapter is not None and adapter.single is not None:
        return adapter.single(spec.name.partition(":")[2], spec.options, time_limit=spec.time_limit)
    env = call_maker(spec.name, maker_of(spec.name), spec.options)
    if not isinstance(env, gymnasium.Env):
        raise ValueError(f"environment {spec.name!r} made a {type(env).__name__}: this learner needs a gymnasium.Env")
    return time_limited(env, spec.time_limit)
