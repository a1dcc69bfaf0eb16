"""The C++ environments of envpool, stepped on the host in threads: `envpool:Pong-v5`.

Every copy has its own seed, rows come back in order whatever the number of threads, and a copy resets in the step after its
episode's end; tests/envs/test_envpool.py checks all three.
"""

from __future__ import annotations

import contextlib
import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.flatten import flat_space, flatten
from evolute.envs.interface import Vector
from evolute.envs.qt import load_qt
from evolute.envs.spaces import supported

Array = np.ndarray[Any, Any]
LIBRARY = Library(("envpool",), "envpool", "envpool:Pong-v5", "Atari, MuJoCo, dm_control and more, in C++")


class EnvPoolEnv:
    """An env of envpool. `options` are those of `envpool.make`; `time_limit` replaces the env's own."""

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> None:
        if name not in ids():
            raise ValueError(f"envpool has no environment {name!r}{closest(name, ids())}")
        self._name, self._options, self._repeat = name, dict(options), action_repeat
        if time_limit is not None:
            self._options["max_episode_steps"] = time_limit
        env = self._make([0])
        self._space = env.observation_space
        self.action_space: gymnasium.Space[Any] = env.action_space
        supported(self._space, self.action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(self._space)
        limit = env.config["max_episode_steps"]
        self.time_limit = math.ceil(limit / action_repeat) if limit < 2**31 - 1 else None
        self.stacked_frames = _stacked_frames(env.config) if action_repeat == 1 else 1

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        return _Pool(self._make([seed for member in seeds for seed in member]), self._space, self._repeat)

    def _make(self, seeds: Sequence[int]) -> Any:
        limited = [int(seed) % 2**31 for seed in seeds]  # all that envpool takes
        try:
            return _quiet(load().make(self._name, "gymnasium", num_envs=len(limited), seed=limited, **self._options))
        except ImportError as error:
            raise ValueError(f"envpool:{self._name} cannot be made here: {error}") from error
        except (AssertionError, TypeError, ValueError) as error:
            raise ValueError(f"envpool:{self._name} does not take the options {self._options}: {error}") from error


class _Pool:
    def __init__(self, env: Any, space: gymnasium.Space[Any], repeat: int) -> None:
        self._env, self._space, self._repeat = env, space, repeat
        self._ended = np.zeros(0, bool)
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        obs = self._flat(self._env.reset()[0])
        self._ended = np.zeros(len(obs), bool)
        return obs

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        actions = np.asarray(actions)
        obs, rewards, terminated, truncated, _ = self._env.step(actions)
        obs, resetting = self._flat(obs), self._ended
        for _ in range(1, self._repeat):
            on = np.flatnonzero(~(resetting | terminated | truncated)).astype(np.int32)
            if len(on):
                seen, more, terminated[on], truncated[on], _ = self._env.step(actions[on], on)
                obs[on] = self._flat(seen)
                rewards[on] += more
        self._ended = terminated | truncated
        return obs, rewards, terminated, truncated

    def close(self) -> None:
        self._env.close()

    def _flat(self, obs: Any) -> Array:
        flat: Array = flatten(self._space, obs, np, batch=1)
        return flat


@functools.cache
def load() -> ModuleType:
    """The library. What its Procgen is linked with has to be loaded before it is imported."""
    with contextlib.suppress(ValueError):
        load_qt()
    return LIBRARY.load("envpool")


@functools.cache
def ids() -> tuple[str, ...]:
    """All ids that envpool knows."""
    return tuple(load().list_all_envs())


def _stacked_frames(config: Mapping[str, Any]) -> int:
    """How many grey images Atari shows at once; 1 for other envs.

    With `episodic_life` it is 1 as well: an episode that begins with the next life shows images of the last one.
    """
    atari = "noop_max" in config and config["gray_scale"] and not config["episodic_life"]
    return int(config["stack_num"]) if atari else 1


def _quiet(env: Any) -> Any:
    """The env with its spaces made, so that they do not warn later about the precision of their bounds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _ = env.observation_space, env.action_space
    return env


envpool = Adapter(library=LIBRARY, ids=ids, host=EnvPoolEnv, has_gymnasium_id=lambda name: name in ids(), priority=2)
