"""Environments by name: `cartpole`, `gymnax:Breakout-MinAtar`, `CartPole-v1` from the fastest library, or a user's own."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Iterator
from dataclasses import replace

from evolute.envs import host_wrappers, jax_wrappers
from evolute.envs.catalog import (
    adapter_of,
    adapters,
    for_gymnasium_ids,
    games,
    is_only_game,
    our_names,
    ours,
    sources,
    unknown,
)
from evolute.envs.flatten import is_flat
from evolute.envs.from_maker import from_maker, game_from_maker, refuse_game
from evolute.envs.game import Game
from evolute.envs.host_game import HostGame
from evolute.envs.interface import HostEnv, JaxEnv
from evolute.envs.spaces import supported
from evolute.envs.spec import EnvSpec


def make_env(spec: EnvSpec) -> JaxEnv | HostEnv:
    """The environment that a spec describes, with its wrappers. Observations are vectors or images of numbers."""
    env = _made(resolve_name(spec.name), spec)
    return _wrapped_host(env, spec) if isinstance(env, HostEnv) else _wrapped_jax(env, spec)


def make_game(spec: EnvSpec) -> Game | HostGame:
    """The game that a spec describes. Of the wrappers only a time limit is known to games, and not to all of them."""
    for setting in ("frame_stack", "action_repeat", "obs_scale", "reward_scale"):
        if getattr(spec, setting) != 1:
            raise ValueError(f"wrap.{setting}={getattr(spec, setting)}: games are played as they are, without this wrapper")
    name = resolve_name(spec.name)
    adapter, name_there = adapter_of(name), name.partition(":")[2]
    if adapter is None:
        with _closest_source(name):
            game: Game | HostGame | None = game_from_maker(name, spec.options, time_limit=spec.time_limit)
    else:
        make = adapter.game
        game = None if make is None else make(name_there, spec.options, time_limit=spec.time_limit)
    if game is None:
        raise ValueError(f"{name} has one seat, so it has no opponents; games are {', '.join(games())}, package.module:make")
    return game


def spec_for_testing(spec: EnvSpec) -> EnvSpec | None:
    """The environment to test members in that train in this one, if there is one: Procgen on all levels."""
    adapter = adapter_of(spec.name)
    if adapter is None or adapter.test_options is None:
        return None
    return replace(spec, options={**spec.options, **adapter.test_options})


def resolve_name(name: str) -> str:
    """The full name: a bare id of Gymnasium becomes ours or that of the fastest installed library that has it."""
    if ":" in name or name in our_names():
        return name
    for our_name, env in ours().items():
        if name in env.same_as:
            return our_name
    for source in for_gymnasium_ids():
        if has_gymnasium_id(source, name):
            return f"{source}:{name}"
    raise ValueError(unknown(name))


def has_gymnasium_id(source: str, name: str) -> bool:
    """Whether a source has this id of Gymnasium, with the same meaning."""
    adapter = adapters().get(source)
    return adapter is not None and adapter.has_gymnasium_id is not None and adapter.has_gymnasium_id(name)


def _made(name: str, spec: EnvSpec) -> JaxEnv | HostEnv:
    adapter, name_there = adapter_of(name), name.partition(":")[2]
    if is_only_game(name):
        refuse_game(name, make_game(spec))
    if adapter is None:
        with _closest_source(name):
            return from_maker(name, spec.options, time_limit=spec.time_limit, action_repeat=spec.action_repeat)
    if adapter.jax is not None:
        return adapter.jax(name_there, spec.options, time_limit=spec.time_limit)
    if adapter.host is not None:
        return adapter.host(name_there, spec.options, time_limit=spec.time_limit, action_repeat=spec.action_repeat)
    raise ValueError(f"{name} is neither a JAX env nor a host env, which this learner needs")


@contextlib.contextmanager
def _closest_source(name: str) -> Iterator[None]:
    """Where a user's module is not found, say which of our sources may have been meant."""
    try:
        yield
    except ValueError as error:
        near = difflib.get_close_matches(name.partition(":")[0], sources(), n=1)
        if near and "no module" in str(error):
            raise ValueError(f"{error}; did you mean {near[0]}:{name.partition(':')[2]}?") from error
        raise


def _wrapped_jax(env: JaxEnv, spec: EnvSpec) -> JaxEnv:
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
