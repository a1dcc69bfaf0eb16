"""The soccer of dm_control (Liu et al. 2019, arXiv 1902.07151), in MuJoCo on the host: `dm_soccer:2v2`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.host_game import Array, GameCopy, Moment

LIBRARY = Library(("dm_control",), "dm_control", "dm_soccer:2v2", "dm_control's soccer, a game of two teams")
GAMES = tuple(f"{size}v{size}" for size in range(1, 12))
STATISTICS = "stats_"
"""Observations whose names begin so are for those who watch, not for the players."""


class SoccerGame:
    """A game that ends with the first goal. `options` are those of `soccer.load`, such as `time_limit` in seconds."""

    has_legal = False
    zero_sum = True
    bots: Sequence[str] = ()

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> None:
        if name not in GAMES:
            raise ValueError(f"dm_soccer has no game {name!r}{closest(name, GAMES)}")
        if time_limit is not None:
            raise ValueError(f"wrap.time_limit={time_limit}: set dm_soccer.time_limit instead, in seconds")
        self._size, self._options = int(name.partition("v")[0]), dict(options)
        self.teams = (0,) * self._size + (1,) * self._size
        env = self._made()
        (low, high), numbers = _bounds(env.action_spec()[0]), len(_flat(env.reset().observation[0]))
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(low, high, dtype=np.float32)
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-np.inf, np.inf, (numbers,), np.float32)
        env.close()

    def copy(self) -> GameCopy:
        return _Copy(self._made())

    def _made(self) -> Any:
        try:
            return LIBRARY.load("dm_control.locomotion.soccer").load(team_size=self._size, **self._options)
        except TypeError as error:
            raise ValueError(f"dm_soccer with the settings {self._options}: {error}") from error


class _Copy:
    def __init__(self, env: Any) -> None:
        self._env = env

    def reset(self, seed: int) -> Moment:
        self._env.random_state.seed(seed % 2**32)
        return self._moment(self._env.reset())

    def step(self, actions: Mapping[int, Any]) -> Moment:
        return self._moment(self._env.step([actions[seat] for seat in range(len(actions))]))

    def close(self) -> None:
        self._env.close()

    def _moment(self, now: Any) -> Moment:
        obs = np.stack([_flat(seen) for seen in now.observation])
        reward = np.zeros(len(obs)) if now.reward is None else np.array([float(gained) for gained in now.reward])
        over = now.last()
        terminated = np.full(len(obs), bool(over and now.discount == 0))
        return Moment(() if over else range(len(obs)), obs, None, reward, terminated)


def _bounds(actions: Any) -> tuple[Array, Array]:
    return np.asarray(actions.minimum, np.float32), np.asarray(actions.maximum, np.float32)


def _flat(seen: Mapping[str, Any]) -> Array:
    parts = [np.ravel(part) for name, part in seen.items() if not name.startswith(STATISTICS)]
    return np.concatenate(parts).astype(np.float32)


dm_soccer = Adapter(library=LIBRARY, ids=GAMES, game=SoccerGame)
