"""PettingZoo's environments: `pettingzoo:sisl.pursuit_v5`. With opponents they are games (`envs/pettingzoo_game.py`).

Without, parallel environments have one policy for all agents. Every agent of a game is one of the copies that a member steps,
so `ppo.envs` is a multiple of the number of agents, whose observation and action spaces must be equal. An agent that is out
sees zeros and gets no reward until the game is over.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.adapter import Adapter, Library
from evolute.envs.flatten import flat_space, flatten
from evolute.envs.interface import Vector
from evolute.envs.pettingzoo_game import PettingZooGame
from evolute.envs.spaces import supported

Array = np.ndarray[Any, Any]
LIBRARY = Library(
    ("pettingzoo",), "pettingzoo", "pettingzoo:sisl.pursuit_v5", "games; without opponents, one policy for all agents"
)
FAMILIES = ("butterfly", "classic", "sisl")
ZERO_SUM = ("chess", "connect_four", "go", "leduc_holdem", "rps", "texas_holdem", "texas_holdem_no_limit", "tictactoe")
"""Those of the classic games in which what one wins the other loses; the other families are played together."""


class PettingZooEnv:
    """A parallel environment. `options` are those of its `parallel_env`."""

    time_limit: int | None = None

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> None:
        if time_limit is not None or action_repeat > 1:
            raise ValueError(f"pettingzoo:{name}: wrap.time_limit and wrap.action_repeat do not work with several agents")
        self._name, self._options = name, dict(options)
        env = self._make()
        agents = env.possible_agents
        spaces = {(str(env.observation_space(agent)), str(env.action_space(agent))) for agent in agents}
        if len(spaces) > 1:
            raise ValueError(
                f"pettingzoo:{name}: its agents differ in observation or action space, so one policy cannot play them all"
            )
        self._agents, self._space = len(agents), env.observation_space(agents[0])
        self.action_space: gymnasium.Space[Any] = env.action_space(agents[0])
        supported(self._space, self.action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(self._space)
        env.close()

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        if len(seeds[0]) % self._agents:
            raise ValueError(
                f"pettingzoo:{self._name} has {self._agents} agents, each of which takes one of a member's environments: set "
                f"ppo.envs={len(seeds[0])} to a multiple of that"
            )
        games = [seed for member in seeds for seed in member[:: self._agents]]
        return _Games([self._make() for _ in games], games, self._space)

    def _make(self) -> Any:
        module = _module(self._name)
        if "parallel_env" not in vars(module):
            raise ValueError(f"pettingzoo:{self._name} is played in turns: say who plays, as in opponents=history")
        return module.parallel_env(**self._options)


def game(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> PettingZooGame:
    """An environment as a game. `options` are those of its constructor, besides `teams`, the team of each agent."""
    if time_limit is not None:
        raise ValueError(f"wrap.time_limit={time_limit}: set the length of the game by an option of pettingzoo:{name} instead")
    module, own = _module(name), {key: value for key, value in options.items() if key != "teams"}
    make = vars(module).get("parallel_env") or module.env
    family, _, title = re.sub(r"_v\d+$", "", name).partition(".")
    zero_sum = title in ZERO_SUM if family in FAMILIES else None
    try:
        return PettingZooGame(f"pettingzoo:{name}", lambda: make(**own), teams=options.get("teams"), zero_sum=zero_sum)
    except TypeError as error:
        raise ValueError(f"pettingzoo:{name} with the options {own}: {error}") from error


def _module(name: str) -> Any:
    """The module of PettingZoo that makes an environment."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PettingZoo deprecates whole modules
            return importlib.import_module(f"pettingzoo.{name}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("pettingzoo."):
            raise ValueError(f"PettingZoo has no environment {name!r}; name one as in sisl.pursuit_v5") from error
        raise ValueError(f"pettingzoo:{name} needs {error.name}, which is not installed; {LIBRARY.how_to_get}") from error


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


def ids() -> tuple[str, ...]:
    """The modules of PettingZoo that name an environment, as family.name."""
    package = importlib.util.find_spec("pettingzoo")
    root = Path(package.submodule_search_locations[0]) if package and package.submodule_search_locations else Path()
    files = [path for family in FAMILIES for path in sorted((root / family).glob("*.py")) if re.search(r"_v\d+$", path.stem)]
    return tuple(f"{path.parent.name}.{path.stem}" for path in files)


pettingzoo = Adapter(library=LIBRARY, ids=ids, host=PettingZooEnv, game=game)
