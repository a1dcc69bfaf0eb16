"""MinAtar's five games by their own library, stepped on the host: `minatar:Breakout`. gymnax has four of them in JAX."""

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

LIBRARY = Library(("minatar",), "minatar", "minatar:Breakout", "MinAtar's five games")
GAMES = ("Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders")
LIMIT = 5000
"""Steps after which an episode is truncated; the games themselves have no limit."""


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """A game of MinAtar: images [10, 10, channel] of zeros and ones."""
    limited = {"max_episode_steps": time_limit or LIMIT, **options}
    return SyncHostEnv(lambda: single(name, limited), action_repeat=action_repeat)


def single(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> gymnasium.Env[Any, Any]:
    """One env, with observations of float32."""
    if name not in GAMES:
        raise ValueError(f"MinAtar has no game {name!r}{closest(name, GAMES)}")
    library = LIBRARY.load("minatar.gym")
    if f"MinAtar/{name}-v1" not in gymnasium.registry:
        library.register_envs()
    env = gymnasium.make(f"MinAtar/{name}-v1", disable_env_checker=True, **options)
    space = gymnasium.spaces.Box(0.0, 1.0, env.observation_space.shape, np.float32)
    numbers = gymnasium.wrappers.TransformObservation(env, lambda obs: np.asarray(obs, np.float32), space)
    return time_limited(numbers, time_limit)


minatar = Adapter(library=LIBRARY, ids=GAMES, host=host, single=single)
