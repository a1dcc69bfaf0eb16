"""Ordinary environments as games: Gymnasium's have one seat, those of PettingZoo and other games on the host several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium

from evolute.envs.host_game import GameCopy, HostGame
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.games.game import Game, Seat


def from_gymnasium(make: Callable[[], gymnasium.Env[Any, Any]]) -> Game:
    """The game of one seat, `player`, in an environment that `make` makes anew with every call."""
    return _GymnasiumGame(make)


def from_pettingzoo(make: Callable[[], Any], *, plays: str | Sequence[str] | None = None) -> Game:
    """The game of an environment of PettingZoo, parallel or in turns; its agents are the seats."""
    env = make()
    names = tuple(map(str, env.possible_agents))
    env.close()
    return _HostGameGame(PettingZooGame("a game of PettingZoo", make), names, plays)


def from_host_game(game: HostGame, *, plays: str | Sequence[str] | None = None) -> Game:
    """A game on the host (`evolute.envs.host_game`); its seats are `seat_0`, `seat_1`, ..."""
    return _HostGameGame(game, tuple(f"seat_{number}" for number in range(len(game.teams))), plays)


class _GymnasiumGame(Game):
    repeatable = True

    def __init__(self, make: Callable[[], gymnasium.Env[Any, Any]]) -> None:
        super().__init__()
        self._make, self._env = make, make()
        self.observation_space, self.action_space = self._env.observation_space, self._env.action_space
        self._env.close()
        self._opened = False

    async def play(self, seats: Mapping[str, Seat], seed: int) -> None:
        if not self._opened:
            self._env, self._opened = self._make(), True
        seat, over, truncated = seats["player"], False, False
        obs, _ = self._env.reset(seed=seed)
        while not over:
            obs, reward, terminated, truncated, _ = self._env.step(await seat.act(obs))
            seat.reward(float(reward))
            over = bool(terminated or truncated)
        seat.end(obs, truncated=not terminated)

    def close(self) -> None:
        if self._opened:
            self._env.close()


class _HostGameGame(Game):
    repeatable = True

    def __init__(self, game: HostGame, names: Sequence[str], plays: str | Sequence[str] | None) -> None:
        super().__init__(plays=plays)
        self.seats, self._host = names, game
        self.observation_space, self.action_space = game.observation_space, game.action_space
        self.legal = game.has_legal
        self._copy: GameCopy | None = None

    async def play(self, seats: Mapping[str, Seat], seed: int) -> None:
        self._copy = self._copy or self._host.copy()
        now, order = self._copy.reset(seed), list(seats.values())
        while now.acting:
            asked = [order[one].act(now.obs[one], None if now.legal is None else now.legal[one]) for one in now.acting]
            actions = await asyncio.gather(*asked)
            now = self._copy.step(dict(zip(now.acting, actions, strict=True)))
            for seat, reward in zip(order, now.reward, strict=True):
                seat.reward(float(reward))
        for number, seat in enumerate(order):
            seat.end(now.obs[number], truncated=not now.terminated[number])

    def close(self) -> None:
        if self._copy is not None:
            self._copy.close()
