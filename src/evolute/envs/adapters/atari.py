"""Atari games by the Arcade Learning Environment, with the standard preprocessing: `atari:Pong`.

Up to 30 no-op steps at the start, each action for four frames of which the last two are merged, grey images of 84 x 84, and
the last four of them stacked (Machado et al. 2018; Mnih et al. 2015). `envpool:Pong-v5` does the same in C++.
"""

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

Env = gymnasium.Env[Any, Any]
LIBRARY = Library(("ale_py", "cv2"), "atari", "atari:Pong", "Atari games with the standard preprocessing")
PREPROCESSING = ("noop_max", "frame_skip", "screen_size", "terminal_on_life_loss", "stack", "clip_reward")
"""Options of the preprocessing; all others are those of `gymnasium.make`."""
STACK = 4


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """An Atari game. `time_limit` counts steps of four frames."""
    limited = {**options, "max_episode_steps": time_limit * options.get("frame_skip", 4)} if time_limit else options
    frames = options.get("stack", STACK)
    return SyncHostEnv(lambda: single(name, limited), action_repeat=action_repeat, frames=frames)


def single(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> Env:
    """One env with the standard preprocessing, its frames along the last axis. `time_limit` counts steps of four frames."""
    if name not in ids():
        raise ValueError(f"Atari has no game {name!r}{closest(name, ids())}")
    chosen = {"stack": STACK, "clip_reward": False, **{key: options[key] for key in PREPROCESSING if key in options}}
    stack, clip = chosen.pop("stack"), chosen.pop("clip_reward")
    game = {key: value for key, value in options.items() if key not in PREPROCESSING}
    env: Env = gymnasium.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0, **game)
    env = gymnasium.wrappers.AtariPreprocessing(env, **chosen)
    env = gymnasium.wrappers.FrameStackObservation(env, stack)
    height, width = env.observation_space.shape[1:]  # type: ignore[index]
    space = gymnasium.spaces.Box(0, 255, (height, width, stack), np.uint8)
    env = gymnasium.wrappers.TransformObservation(env, lambda frames: np.moveaxis(np.asarray(frames), 0, -1), space)
    if clip:
        env = gymnasium.wrappers.TransformReward(env, lambda reward: float(np.sign(float(reward))))
    return time_limited(env, time_limit)


def ids() -> tuple[str, ...]:
    """All games, as the ids of their newest versions name them."""
    gymnasium.register_envs(LIBRARY.load("ale_py"))
    return tuple(name[4:-3] for name in gymnasium.registry if name.startswith("ALE/") and name.endswith("-v5"))


atari = Adapter(library=LIBRARY, ids=ids, host=host, single=single)
