"""Environments made by calling a function or class: ours, and a user's own `package.module:make`."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, NoReturn

import gymnasium

from evolute.core.names import resolve
from evolute.envs.catalog import ours
from evolute.envs.game import Game
from evolute.envs.gymnasium_wrappers import time_limited
from evolute.envs.host_game import HostGame
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.host_vector import VectorHostEnv
from evolute.envs.interface import HasHostEnv, HostEnv, JaxEnv
from evolute.envs.jax_wrappers import TimeLimit
from evolute.envs.maker import call_maker, maker_of
from evolute.envs.pettingzoo_game import PettingZooGame, is_aec, is_pettingzoo
from evolute.envs.pettingzoo_shared import SharedPolicyEnv


def from_maker(
    name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1
) -> JaxEnv | HostEnv:
    """The environment that a maker returns when it is called with the options.

    It may return a gymnasium.Env, or if it takes `num_envs` a VectorEnv of that many copies, or an object with the functions
    of a JaxEnv or of a HostEnv, or a game that runs by itself (`evolute.games`), or a parallel environment of PettingZoo, which
    has one policy for all agents.
    A maker that takes `time_limit` is given it. Actions of a JaxEnv are not repeated here.
    """
    maker = maker_of(name)
    if not callable(maker):
        raise ValueError(f"environment {name!r} is a {type(maker).__name__}: name a function or class that makes one")
    takes = inspect.signature(maker).parameters
    if time_limit is not None and "time_limit" in takes:
        options, time_limit = {**options, "time_limit": time_limit}, None
    if "num_envs" in takes:
        _check_together(name, time_limit, action_repeat)
        return VectorHostEnv(lambda count: call_maker(name, maker, {**options, "num_envs": count}))
    env = call_maker(name, maker, options)
    if isinstance(env, gymnasium.Env):
        env.close()
        return SyncHostEnv(lambda: time_limited(maker(**options), time_limit), action_repeat=action_repeat)
    if is_pettingzoo(env) and not is_aec(env):
        env.close()
        return SharedPolicyEnv(name, partial(maker, **options), time_limit=time_limit, action_repeat=action_repeat)
    return _checked(name, env, time_limit, action_repeat)


def game_from_maker(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> Game | HostGame | None:
    """The game that a maker returns when it is called with the options, as in `from_maker`; None if it makes no game.

    It may also return an environment of PettingZoo, every agent of which is a seat.
    """
    maker = ours()[name].game if name in ours() else resolve("envs", name)
    if not callable(maker):
        return None
    if time_limit is not None:
        if "time_limit" not in inspect.signature(maker).parameters:
            raise ValueError(f"wrap.time_limit={time_limit}: the length of a game of {name} is a matter of its own rules")
        options = {**options, "time_limit": time_limit}
    game = call_maker(name, maker, options)
    if is_pettingzoo(game):
        game.close()
        return PettingZooGame(name, partial(maker, **options))
    if isinstance(game, HasHostEnv):
        raise ValueError(f"{name} runs by itself, and opponents do not play in such games: a rule plays the other seats")
    return game if isinstance(game, (Game, HostGame)) else None


def refuse_game(name: str, game: Game | HostGame) -> NoReturn:
    """Raise the error for a game where an environment with one seat is needed."""
    raise ValueError(f"{name} is a game with {len(game.teams)} seats: say who plays, as in opponents=history")


def _checked(name: str, env: Any, time_limit: int | None, action_repeat: int) -> JaxEnv | HostEnv:
    """An object that should already be a JaxEnv or a HostEnv, or be able to become one."""
    if isinstance(env, HasHostEnv):
        env = env.host_env()
    if isinstance(env, HostEnv):
        _check_together(name, time_limit, action_repeat)
        return env
    if is_pettingzoo(env):
        refuse_game(name, PettingZooGame(name, lambda: env))
    if isinstance(env, (Game, HostGame)):  # which looks like a JaxEnv
        refuse_game(name, env)
    if isinstance(env, gymnasium.vector.VectorEnv) or not isinstance(env, JaxEnv):
        raise ValueError(
            f"environment {name!r} made a {type(env).__name__}: it must be a gymnasium.Env, a JaxEnv (observation_space, "
            "action_space, reset(key), step(key, state, action)), or with a parameter num_envs a gymnasium VectorEnv"
        )
    return env if time_limit is None else TimeLimit(env, time_limit)


def _check_together(name: str, time_limit: int | None, action_repeat: int) -> None:
    if time_limit is not None or action_repeat > 1:
        raise ValueError(
            f"time_limit={time_limit}, action_repeat={action_repeat} with {name!r}: copies that are stepped together cannot "
            "be limited or repeated one by one; let your environment do it, or make a single gymnasium.Env"
        )
