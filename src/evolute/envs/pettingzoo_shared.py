"""Parallel environments of PettingZoo without opponents: one policy for all agents.

Every agent of a game is one of the copies that a member steps, so `ppo.envs` is a multiple of the number of agents, whose
observation and action spaces must be equal. An agent that is out sees zeros and gets no reward until the game is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.flatten import flat_space, flatten
from evolute.envs.interface import Vector
from evolute.envs.spaces import supported

Array = np.ndarray[Any, Any]


class SharedPolicyEnv:
    """The environment that `make` makes anew with every call."""

    time_limit: int | None = None

    def __init__(self, name: str, make: Callable[[], Any], *, time_limit: int | None = None, action_repeat: int = 1) -> None:
        if time_limit is not None or action_repeat > 1:
            raise ValueError(f"{name}: wrap.time_limit and wrap.action_repeat do not work with several agents")
        self._make = make
        env = self._make()
        agents = env.possible_agents
        spaces = {(str(env.observation_space(agent)), str(env.action_space(agent))) for agent in agents}
        if len(spaces) > 1:
            raise ValueError(
                f"{name}: its agents differ in observation or action space, so one policy cannot play them all "
                "without opponents: say who plays, as in opponents=history"
            )
        self.seats_per_game, self._space = len(agents), env.observation_space(agents[0])
        self.action_space: gymnasium.Space[Any] = env.action_space(agents[0])
        supported(self._space, self.action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(self._space)
        env.close()

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        if len(seeds[0]) % self.seats_per_game:
            raise ValueError(f"{len(seeds[0])} rows of a member are no whole games of {self.seats_per_game} agents")
        games = [seed for member in seeds for seed in member[:: self.seats_per_game]]
        return _Games([self._make() for _ in games], games, self._space)


class _Games:
    """Several games with their agents side by side: rows are [game * agent]."""

    def __init__(self, games: Sequence[Any], seeds: Sequence[int], space: gymnasium.Space[Any]) -> None:
        self._games, self._seeds, self._space = games, seeds, space
        self._agents = games[0].possible_agents
        box = flat_space(space)
        self._obs = np.zeros((len(games), len(self._agents), *box.shape), box.dtype)
        self._over = [False] * len(games)
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        for number, seed in enumerate(self._seeds):
            self._see(number, self._games[number].reset(seed=int(seed))[0])
        return self._rows(self._obs)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        shape = (len(self._games), len(self._agents))
        rewards, terminated, truncated = np.zeros(shape, np.float32), np.zeros(shape, bool), np.zeros(shape, bool)
        for number, chosen in enumerate(np.asarray(actions).reshape((*shape, -1))):
            try:
                self._advance(number, chosen, rewards[number], terminated[number], truncated[number])
            except Exception as error:  # whatever a game raises is the failure of its member
                rewards[number] = np.nan
                self.failures.update(dict.fromkeys(range(number * shape[1], (number + 1) * shape[1]), error))
        return self._rows(self._obs), rewards.ravel(), terminated.ravel(), truncated.ravel()

    def close(self) -> None:
        for game in self._games:
            game.close()

    def _advance(self, number: int, chosen: Array, rewards: Array, terminated: Array, truncated: Array) -> None:
        game, first = self._games[number], number * len(self._agents)
        if first in self.failures:
            rewards[:] = np.nan
            return
        if self._over[number]:
            self._see(number, game.reset()[0])
            self._over[number] = False
            return
        acting = {agent: self._action(game, agent, chosen[self._agents.index(agent)]) for agent in game.agents}
        obs, gained, ended, _, _ = game.step(acting)
        rewards[:] = [gained.get(agent, 0.0) for agent in self._agents]
        self._see(number, obs)
        if not game.agents:
            self._over[number] = True
            terminated[:] = [ended.get(agent, True) for agent in self._agents]
            truncated[:] = ~terminated

    def _action(self, game: Any, agent: str, chosen: Array) -> Any:
        space = game.action_space(agent)
        return int(chosen[0]) if isinstance(space, gymnasium.spaces.Discrete) else chosen.reshape(space.shape)

    def _see(self, number: int, obs: Mapping[str, Any]) -> None:
        self._obs[number] = 0
        for agent, seen in obs.items():
            self._obs[number, self._agents.index(agent)] = flatten(self._space, seen, np)

    def _rows(self, obs: Array) -> Array:
        return obs.reshape((-1, *obs.shape[2:])).copy()
