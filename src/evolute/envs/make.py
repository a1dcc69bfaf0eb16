"""Environments by name: `cartpole`, `gymnax:Breakout-MinAtar`, `CartPole-v1` wherever it is fastest, or anyone's own."""

from __future__ import annotations

import difflib
import importlib
from dataclasses import replace
from typing import Any

from evolute.envs import host_wrappers, jax_wrappers
from evolute.envs.catalog import OURS, SOURCES, ids, installed, unknown
from evolute.envs.flatten import is_flat
from evolute.envs.from_maker import from_maker
from evolute.envs.gym import ATTACHED
from evolute.envs.interface import HostEnv, JaxEnv
from evolute.envs.spaces import supported
from evolute.envs.spec import EnvSpec

_OUR_VERSION = {"CartPole-v1": "cartpole"}
INSIDE = ("gymnax", "brax", "playground")
"""Sources whose envs are written in JAX."""


def make_env(spec: EnvSpec) -> JaxEnv | HostEnv:
    """The environment that a spec describes, with its wrappers. Observations are vectors or images of numbers."""
    env = _made(resolve_name(spec.name), spec)
    return _wrapped_host(env, spec) if isinstance(env, HostEnv) else _wrapped(env, spec)


def spec_for_testing(spec: EnvSpec) -> EnvSpec | None:
    """The environment to test in what was trained in this one, if it has such a version: Procgen on all levels."""
    source = spec.name.partition(":")[0]
    adapter = importlib.import_module(f"evolute.envs.{source}") if source in SOURCES else None
    options = vars(adapter).get("HELD_OUT") if adapter is not None else None
    return None if options is None else replace(spec, options={**spec.options, **options})


def resolve_name(name: str) -> str:
    """What a name means here: a bare id becomes that of the fastest library that is installed and has it."""
    if ":" in name or name in OURS:
        return name
    if name in _OUR_VERSION:
        return _OUR_VERSION[name]
    for source in ("gymnax", "envpool", "gym"):
        if installed(source) and name in same_as_gymnasium(source):
            return f"{source}:{name}"
    if any(name.startswith(start) or name.endswith(end) for start, end in ATTACHED):
        return f"gym:{name}"
    raise ValueError(unknown(name))


def same_as_gymnasium(source: str) -> tuple[str, ...]:
    """The ids of a source that mean there what they mean in Gymnasium."""
    if source == "gymnax":
        from evolute.envs.gymnax import SAME

        return SAME
    return ids(source)


def _made(name: str, spec: EnvSpec) -> JaxEnv | HostEnv:
    source, _, rest = name.partition(":")
    if source not in SOURCES:
        return _made_own(name, spec)
    adapter: Any = vars(importlib.import_module(f"evolute.envs.{source}"))[source]
    if source in INSIDE:
        env = adapter(rest, spec.options, time_limit=spec.time_limit)
    else:
        env = adapter(rest, spec.options, time_limit=spec.time_limit, action_repeat=spec.action_repeat)
    found: JaxEnv | HostEnv = env
    return found


def _made_own(name: str, spec: EnvSpec) -> JaxEnv | HostEnv:
    try:
        return from_maker(name, spec.options, time_limit=spec.time_limit, action_repeat=spec.action_repeat)
    except ValueError as error:
        near = difflib.get_close_matches(name.partition(":")[0], SOURCES, n=1)
        if near and "no module" in str(error):
            raise ValueError(f"{error}; did you mean {near[0]}:{name.partition(':')[2]}?") from error
        raise


def _wrapped(env: JaxEnv, spec: EnvSpec) -> JaxEnv:
    supported(env.observation_space, env.action_space)
    if spec.action_repeat > 1:
        env = jax_wrappers.ActionRepeat(env, spec.action_repeat)
    if not is_flat(env.observation_space):
        env = jax_wrappers.Flat(env)
    if spec.frame_stack > 1:
        env = jax_wrappers.FrameStack(env, spec.frame_stack)
    if (spec.obs_scale, spec.reward_scale) != (1.0, 1.0):
        env = jax_wrappers.Scale(env, obs=spec.obs_scale, reward=spec.reward_scale)
    return env


def _wrapped_host(env: HostEnv, spec: EnvSpec) -> HostEnv:
    if spec.frame_stack > 1:
        env = host_wrappers.frame_stack(env, spec.frame_stack)
    if (spec.obs_scale, spec.reward_scale) != (1.0, 1.0):
        env = host_wrappers.scale(env, obs=spec.obs_scale, reward=spec.reward_scale)
    return env
