"""Atari games by the Arcade Learning Environment, with the standard preprocessing: `atari:Pong`.

Up to 30 idle steps at the start, every action for four frames of which the last two are merged, grey images of 84 x 84, and
the last four of them shown together (Machado et al. 2018; Mnih et al. 2015). `envpool:Pong-v5` does the same in C++.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.interface import HostEnv

Env = gymnasium.Env[Any, Any]
OURS = ("noop_max", "frame_skip", "screen_size", "terminal_on_life_loss", "stack", "clip_reward")
"""Options of the preprocessing; all others are those of `gymnasium.make`."""


def atari(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """An Atari game. `time_limit` counts steps of four frames."""
    limited = {**options, "max_episode_steps": time_limit * options.get("frame_skip", 4)} if time_limit else options
    return SyncHostEnv(lambda: single(name, limited), action_repeat=action_repeat)


def single(name: str, options: Mapping[str, Any]) -> Env:
    """One env with the standard preprocessing, its frames along the last axis."""
    if name not in ids():
        raise ValueError(f"Atari has no game {name!r}{closest(name, ids())}")
    chosen = {"stack": 4, "clip_reward": False, **{key: options[key] for key in OURS if key in options}}
    stack, clip = chosen.pop("stack"), chosen.pop("clip_reward")
    game = {key: value for key, value in options.items() if key not in OURS}
    env: Env = gymnasium.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0, **game)
    env = gymnasium.wrappers.AtariPreprocessing(env, **chosen)
    env = gymnasium.wrappers.FrameStackObservation(env, stack)
    height, width = env.observation_space.shape[1:]  # type: ignore[index]
    space = gymnasium.spaces.Box(0, 255, (height, width, stack), np.uint8)
    env = gymnasium.wrappers.TransformObservation(env, lambda frames: np.moveaxis(np.asarray(frames), 0, -1), space)
    return gymnasium.wrappers.TransformReward(env, lambda reward: float(np.sign(float(reward)))) if clip else env


def ids() -> tuple[str, ...]:
    """All games, as the ids of their newest versions name them."""
    try:
        gymnasium.register_envs(importlib.import_module("ale_py"))
    except ModuleNotFoundError as error:
        raise ValueError(f"Atari games need {error.name}, which is not installed; pip install 'evolute[atari]'") from error
    return tuple(name[4:-3] for name in gymnasium.registry if name.startswith("ALE/") and name.endswith("-v5"))
