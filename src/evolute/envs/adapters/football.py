"""Google Research Football (Kurach et al. 2020, arXiv 1907.11180), on the host: `football:academy_empty_goal_close`.

Observations are the 115 numbers of the library (simple115v2), seen from each player's own side. Gym's wrappers are not used, so
that any version of it will do. `football.left` and `football.right` say how many players of each team are seats.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.gymnasium_wrappers import time_limited
from evolute.envs.host_game import Array, GameCopy, Moment
from evolute.envs.host_sync import SyncHostEnv
from evolute.envs.interface import HostEnv, Vector

INSTALL = (
    "sudo apt-get install -y build-essential cmake python3-dev libgl1-mesa-dev libegl1-mesa-dev libsdl2-dev libsdl2-image-dev "
    "libsdl2-ttf-dev libsdl2-gfx-dev libboost-python-dev libboost-thread-dev libboost-filesystem-dev libboost-system-dev "
    "&& pip install 'setuptools<66' wheel psutil six && pip install --no-build-isolation gfootball==2.10.2"
)
LIBRARY = Library(
    ("gfootball",),
    None,
    "football:academy_empty_goal_close",
    "Google Research Football",
    install=INSTALL,
    where="Debian 12, in an activated virtual environment with Python 3.11",
)
NUMBERS = 115
KINDS = ("scoring", "checkpoints")
"""Rewards: 1 for a goal and -1 for one of the others; ten times 0.1 for taking the ball towards their goal."""


class Played(NamedTuple):
    """A match after a step: observations [player, number], rewards [player], whether it is over, and whether by time alone."""

    obs: Array
    reward: Array
    over: bool
    truncated: bool


class Options(NamedTuple):
    """The settings of the section `football`: how many players of each team are seats, and which rewards they get."""

    left: int = 1
    right: int = 0
    rewards: str = "scoring,checkpoints"

    @property
    def seats(self) -> int:
        return self.left + self.right

    @classmethod
    def read(cls, given: Mapping[str, Any], **defaults: Any) -> Options:
        for key in given:
            if key not in cls._fields:
                raise ValueError(f"football.{key}: there is no such setting{closest(key, cls._fields)}")
        options = cls(**{**defaults, **given})
        for key in ("left", "right"):
            if type(value := getattr(options, key)) is not int:
                raise ValueError(f"football.{key}={value}: must be a whole number of players, such as 1")
        if not isinstance(options.rewards, str):
            raise ValueError(f"football.rewards={options.rewards}: there are {' and '.join(KINDS)}, joined by a comma")
        if min(options.left, options.right) < 0 or options.seats == 0:
            raise ValueError(
                f"football.left={options.left}, football.right={options.right}: at least one player must be a seat"
            )
        for kind in options.rewards.split(","):
            if kind not in KINDS:
                raise ValueError(f"football.rewards={options.rewards}: there are {' and '.join(KINDS)}, joined by a comma")
        return options


class Match:
    """One match, which is played again and again."""

    def __init__(self, scenario: str, options: Options) -> None:
        if scenario not in ids():
            raise ValueError(f"football has no scenario {scenario!r}{closest(scenario, ids())}")
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        configs, envs, wrappers = (LIBRARY.load(f"gfootball.env.{name}") for name in ("config", "football_env", "wrappers"))
        players = f"agent:left_players={options.left},right_players={options.right}"
        self._config = configs.Config({"level": scenario, "players": [players], "game_engine_random_seed": 0})
        _check_players(scenario, options, self._config.ScenarioConfig())
        try:
            self._env = envs.FootballEnv(self._config)
        except AssertionError as error:
            raise ValueError(f"football.left={options.left}, football.right={options.right}: {error}") from error
        self._checkpoints = wrappers.CheckpointRewardWrapper(self._env)
        self._convert = wrappers.Simple115StateWrapper.convert_observation
        self._kinds = options.rewards.split(",")
        self.choices = int(np.ravel(getattr(self._env.action_space, "nvec", getattr(self._env.action_space, "n", 0)))[0])

    def reset(self, seed: int) -> Array:
        """The beginning of a match that follows from the seed: who is processed first and, where they change, the sides too."""
        self._config["game_engine_random_seed"] = seed % 2_000_000_000
        self._config["reverse_team_processing"] = bool(seed % 2)
        self._config["episode_number"] = seed // 2 % 2
        return self._numbers(self._checkpoints.reset())

    def step(self, actions: Sequence[int]) -> Played:
        obs, scoring, over, _ = self._env.step([int(action) for action in actions])
        scoring = np.array(scoring, np.float32).reshape(-1)
        with_checkpoints = self._checkpoints.reward(scoring.copy())
        gained = {"scoring": scoring, "checkpoints": with_checkpoints - scoring}
        reward = np.sum([gained[kind] for kind in self._kinds], axis=0)
        return Played(self._numbers(obs), reward, bool(over), bool(over) and obs[0]["steps_left"] == 0)

    def close(self) -> None:
        self._env.close()

    def _numbers(self, seen: Any) -> Array:
        return np.array(self._convert(seen, True), np.float32)


class FootballEnv(gymnasium.Env[Array, int]):
    """One player of the left team, as an environment of Gymnasium."""

    def __init__(self, scenario: str, options: Options) -> None:
        self._match = Match(scenario, options)
        self.observation_space, self.action_space = _spaces(self._match)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        return self._match.reset(int(self.np_random.integers(2**31)))[0], {}

    def step(self, action: int) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        obs, reward, over, truncated = self._match.step([action])
        return obs[0], float(reward[0]), over and not truncated, truncated, {}

    def close(self) -> None:
        self._match.close()


class FootballGame:
    """A match whose seats are several players; `left` and `right` are both 1 unless they are set."""

    has_legal = False
    bots: Sequence[str] = ()

    def __init__(self, scenario: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> None:
        if time_limit is not None:
            raise ValueError(f"wrap.time_limit={time_limit}: the length of a match is a matter of football's scenarios")
        self._scenario, self._options = scenario, Options.read(options, right=1, rewards="scoring")
        if min(self._options.left, self._options.right) < 1:
            raise ValueError("opponents in football need seats in both teams: set football.left and football.right")
        self.teams = (0,) * self._options.left + (1,) * self._options.right
        self.zero_sum = self._options.rewards == "scoring"
        match = Match(scenario, self._options)
        self.observation_space, self.action_space = _spaces(match)
        match.close()

    def copy(self) -> GameCopy:
        return _Copy(Match(self._scenario, self._options))


class _Copy:
    def __init__(self, match: Match) -> None:
        self._match = match

    def reset(self, seed: int) -> Moment:
        obs = self._match.reset(seed)
        return Moment(range(len(obs)), obs, None, np.zeros(len(obs)), np.zeros(len(obs), bool))

    def step(self, actions: Mapping[int, Any]) -> Moment:
        obs, reward, over, truncated = self._match.step([actions[seat] for seat in range(len(actions))])
        return Moment(() if over else range(len(obs)), obs, None, reward, np.full(len(obs), over and not truncated))

    def close(self) -> None:
        self._match.close()


class FootballTeam:
    """Several players of a match, all with the member's policy: each is one of its environments."""

    time_limit: int | None = None

    def __init__(self, scenario: str, options: Options) -> None:
        self._scenario, self._options = scenario, options
        self.seats_per_game = options.seats
        match = Match(scenario, options)
        self.observation_space, self.action_space = _spaces(match)
        match.close()

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        if len(seeds[0]) % self._options.seats:
            raise ValueError(f"{len(seeds[0])} rows of a member are no whole matches of {self._options.seats} seats")
        chosen = [int(seed) for member in seeds for seed in member[:: self._options.seats]]
        return _Matches([Match(self._scenario, self._options) for _ in chosen], chosen, self._options.seats)


class _Matches:
    """Several matches with their players side by side: rows are [match * player]."""

    def __init__(self, matches: Sequence[Match], seeds: Sequence[int], seats: int) -> None:
        self._matches, self._rngs, self._seats = matches, [np.random.default_rng(seed) for seed in seeds], seats
        self._over = [False] * len(matches)
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        return np.concatenate([self._begun(number).obs for number in range(len(self._matches))])

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        chosen = np.asarray(actions).reshape(len(self._matches), self._seats)
        played = [self._begun(n) if over else self._matches[n].step(chosen[n]) for n, over in enumerate(self._over)]
        self._over = [now.over for now in played]
        ends = np.repeat([now.over for now in played], self._seats)
        truncated = np.repeat([now.truncated for now in played], self._seats)
        rewards = np.concatenate([now.reward for now in played]).astype(np.float32)
        return np.concatenate([now.obs for now in played]), rewards, ends & ~truncated, truncated

    def close(self) -> None:
        for match in self._matches:
            match.close()

    def _begun(self, number: int) -> Played:
        obs = self._matches[number].reset(int(self._rngs[number].integers(2**31)))
        return Played(obs, np.zeros(self._seats, np.float32), over=False, truncated=False)


def single(name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> gymnasium.Env[Any, Any]:
    """A scenario with one seat."""
    read = Options.read(options)
    if read.seats > 1:
        raise ValueError(f"football.left={read.left}, football.right={read.right}: this takes an environment with one seat")
    return time_limited(FootballEnv(name, read), time_limit)


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """A scenario with one seat, or with several that have one policy."""
    read = Options.read(options)
    if read.seats == 1:
        return SyncHostEnv(lambda: single(name, options, time_limit=time_limit), action_repeat=action_repeat)
    if time_limit is not None or action_repeat > 1:
        raise ValueError(f"football:{name}: wrap.time_limit and wrap.action_repeat do not work with several seats")
    return FootballTeam(name, read)


def ids() -> tuple[str, ...]:
    """All scenarios."""
    found = importlib.util.find_spec("gfootball")
    if found is None or not found.submodule_search_locations:
        LIBRARY.load("gfootball")
        return ()
    folder = Path(found.submodule_search_locations[0]) / "scenarios"
    names = [path.stem for path in folder.glob("*.py") if not path.stem.startswith(("_", "test_"))]
    return tuple(sorted(names))


def _check_players(scenario: str, options: Options, there: Any) -> None:
    for side, wanted in (("left", options.left), ("right", options.right)):
        most = int(getattr(there, f"controllable_{side}_players"))
        if wanted > most:
            raise ValueError(f"football.{side}={wanted}: in {scenario} {most} players of that team can be played")


def _spaces(match: Match) -> tuple[gymnasium.Space[Any], gymnasium.Space[Any]]:
    seen = gymnasium.spaces.Box(-np.inf, np.inf, (NUMBERS,), np.float32)
    return seen, gymnasium.spaces.Discrete(match.choices)


football = Adapter(library=LIBRARY, ids=ids, host=host, single=single, game=FootballGame)
