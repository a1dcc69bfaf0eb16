"""Environments of PettingZoo as games: every agent is a seat, in parallel environments and in those played in turns (AEC).

Where agents differ, observations are padded to the longest and a one-hot of the agent's role is added; agents whose names and
spaces are alike have one role. Of agents with fewer actions than others the rest are illegal.
"""

from __future__ import annotations

import inspect
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces

from evolute.envs.flatten import flat_space, flatten
from evolute.envs.frames import enlarged, without_screen
from evolute.envs.host_game import Array, GameCopy, Moment, RenderedCopy
from evolute.envs.spaces import supported

MASK, SEEN = "action_mask", "observation"
"""Where PettingZoo's environments say what is legal: in the observation, which is a dict then, or in the infos."""


class PettingZooGame:
    """The game of an environment that `make` makes anew with every call, to be recorded if called with `render_mode`.

    `teams`, the team of each agent, and `zero_sum` are taken from the environment's `metadata` if they are there.
    """

    bots: Sequence[str] = ()

    def __init__(
        self,
        name: str,
        make: Callable[..., Any],
        *,
        teams: Sequence[int] | None = None,
        zero_sum: bool | None = None,
    ) -> None:
        self._name, self._make = name, make
        env = make()
        env.reset(seed=0)
        agents = list(env.possible_agents)
        if len(agents) < 2:
            raise ValueError(f"{name} has one agent, so it has no opponents")
        about = getattr(env, "metadata", {})
        self.teams = _teams(name, agents, about.get("teams", teams))
        self.zero_sum: bool | None = about.get("zero_sum", zero_sum)
        self._sights = sights(name, env, agents)
        self._moves = moves(name, env, agents)
        self._in_infos = any(MASK in (env.infos.get(agent) or {}) for agent in agents) if is_aec(env) else _infos_mask(env)
        self.has_legal = self._in_infos or any(sight.has_mask for sight in self._sights) or any(m.fewer for m in self._moves)
        self.observation_space: spaces.Space[Any] = self._sights[0].space
        self.action_space: spaces.Space[Any] = self._moves[0].space
        if self.has_legal and not isinstance(self.action_space, spaces.Discrete):
            raise ValueError(f"{name} says which actions are legal, and a learner only masks Discrete ones")
        env.close()

    def copy(self) -> GameCopy:
        return self._copy(self._make())

    def rendered(self) -> RenderedCopy:
        takes = inspect.signature(self._make).parameters.values()
        if not any(one.name == "render_mode" or one.kind is one.VAR_KEYWORD for one in takes):
            raise ValueError(
                f"{self._name} cannot be recorded: what makes it takes no render_mode; let it take render_mode, and render() "
                "return an image if that is 'rgb_array'"
            )
        without_screen()
        return self._copy(self._make(render_mode="rgb_array"))

    def _copy(self, env: Any) -> RenderedCopy:
        seats = _Seats(list(env.possible_agents), self._sights, self._moves, has_legal=self.has_legal)
        return _InTurns(env, seats) if is_aec(env) else _Parallel(env, seats)


class Sight:
    """How what an agent sees becomes numbers, alike for all agents: `space` is that of all, `role` a one-hot to be added."""

    def __init__(self, own: spaces.Space[Any], space: spaces.Box, role: Array | None, *, has_mask: bool) -> None:
        self.own, self.space, self.role, self.has_mask = own, space, role, has_mask

    def __call__(self, seen: Any) -> Array:
        flat = flatten(self.own, seen[SEEN] if self.has_mask else seen, np)
        if self.role is None:
            return np.asarray(flat)
        row = np.zeros(self.space.shape, np.float32)
        numbers = np.ravel(flat)
        row[: len(numbers)] = numbers
        row[len(row) - len(self.role) :] = self.role
        return row


class Moves:
    """How a learner's action becomes an agent's own, how many `choices` it has, and whether others have more."""

    def __init__(self, own: spaces.Space[Any], space: spaces.Space[Any]) -> None:
        self.own, self.space = own, space
        self.choices = int(own.n) if isinstance(own, spaces.Discrete) else 0
        self.fewer = isinstance(space, spaces.Discrete) and self.choices < int(space.n)

    def __call__(self, action: Any) -> Any:
        if isinstance(self.own, spaces.Discrete):
            return int(action)
        if not isinstance(self.own, spaces.Box):
            return np.asarray(action).reshape(self.own.shape)
        numbers = np.ravel(action)[: math.prod(self.own.shape)].reshape(self.own.shape)
        return np.clip(numbers, self.own.low, self.own.high).astype(self.own.dtype)


def sights(name: str, env: Any, agents: Sequence[str]) -> list[Sight]:
    """How each agent sees. Images stay images, and have no role; then all agents must have the same space."""
    given = [env.observation_space(agent) for agent in agents]
    masks = [isinstance(space, spaces.Dict) and {MASK, SEEN} <= set(space) for space in given]
    own = [space[SEEN] if has_mask else space for space, has_mask in zip(given, masks, strict=True)]
    for agent, space in zip(agents, own, strict=True):
        supported(space, env.action_space(agent))
    flat = [flat_space(space) for space in own]
    roles = [(role_of(agent), str(space), str(env.action_space(agent))) for agent, space in zip(agents, own, strict=True)]
    kinds = list(dict.fromkeys(roles))
    alike = len({str(space) for space in own}) == 1
    if len(kinds) == 1 or (alike and len(flat[0].shape) == 3):
        return [Sight(space, flat[0], None, has_mask=has_mask) for space, has_mask in zip(own, masks, strict=True)]
    if any(len(space.shape) == 3 for space in flat):
        raise ValueError(f"{name}: its agents see images of different kinds, which one network cannot read")
    size = max(space.shape[0] for space in flat) + len(kinds)
    joint = spaces.Box(-np.inf, np.inf, (size,), np.float32)
    one_hot = np.eye(len(kinds), dtype=np.float32)
    return [
        Sight(space, joint, one_hot[kinds.index(role)], has_mask=has_mask)
        for space, role, has_mask in zip(own, roles, masks, strict=True)
    ]


def moves(name: str, env: Any, agents: Sequence[str]) -> list[Moves]:
    """How each agent acts: one of the most choices that any agent has, or as many numbers as any agent takes."""
    own = [env.action_space(agent) for agent in agents]
    if len({str(space) for space in own}) == 1:
        return [Moves(space, own[0]) for space in own]
    if all(isinstance(space, spaces.Discrete) for space in own):
        most: spaces.Space[Any] = spaces.Discrete(max(int(space.n) for space in own))
        return [Moves(space, most) for space in own]
    if all(isinstance(space, spaces.Box) for space in own):
        joint = _joint([space.low for space in own], np.minimum), _joint([space.high for space in own], np.maximum)
        return [Moves(space, spaces.Box(*joint, dtype=np.float32)) for space in own]
    raise ValueError(f"{name}: its agents differ in the kind of their actions, so one network cannot act for them all")


def _joint(bounds: Sequence[Array], outer: Any) -> Array:
    """A bound of the longest of several vectors, as wide as each of them needs it."""
    size = max(map(len, bounds))
    joint = np.zeros(size, np.float32)
    for bound in bounds:
        joint[: len(bound)] = outer(joint[: len(bound)], bound)
    return joint


def role_of(agent: str) -> str:
    """An agent's name without its number."""
    return re.sub(r"_?\d+$", "", agent)


def _teams(name: str, agents: Sequence[str], given: Sequence[int] | None) -> tuple[int, ...]:
    """Agents of one name are a team if there are several names; otherwise everybody plays alone."""
    if given is not None:
        if len(given) != len(agents) or sorted(set(given)) != list(range(len(set(given)))):
            raise ValueError(f"teams={list(given)}: {name} has {len(agents)} agents, and teams are numbered from 0 on")
        return tuple(given)
    names = [role_of(agent) for agent in agents]
    kinds = list(dict.fromkeys(names))
    return tuple(range(len(agents))) if len(kinds) in (1, len(agents)) else tuple(kinds.index(one) for one in names)


def _image(env: Any) -> Array:
    image = env.render()
    if not isinstance(image, np.ndarray) or image.ndim != 3:
        raise ValueError(f"render() of {env} returned {type(image).__name__}: it must return an image [height, width, 3]")
    return enlarged(image.astype(np.uint8))


def is_pettingzoo(env: Any) -> bool:
    """Whether this is an environment of PettingZoo; imports nothing."""
    library: Any = sys.modules.get("pettingzoo")
    return library is not None and isinstance(env, (library.AECEnv, library.ParallelEnv))


def is_aec(env: Any) -> bool:
    """Whether agents of an environment act one after another."""
    library: Any = sys.modules["pettingzoo"]
    return isinstance(env, library.AECEnv)


def _infos_mask(env: Any) -> bool:
    """Whether a parallel environment says in its infos what is legal."""
    return any(MASK in (info or {}) for info in env.reset(seed=0)[1].values())


class _Seats:
    """What the agents of one copy see and may do, by seat."""

    def __init__(self, agents: list[str], sights: Sequence[Sight], moves: Sequence[Moves], *, has_legal: bool) -> None:
        self.agents, self._sights, self._moves = agents, sights, moves
        self.numbers = {agent: seat for seat, agent in enumerate(agents)}
        space = sights[0].space
        self._obs = np.zeros((len(agents), *space.shape), space.dtype)
        self._open = self._every_choice() if has_legal else None
        self._legal: Array | None = None
        self.terminated = np.zeros(len(agents), bool)

    def clear(self) -> None:
        """A new game begins."""
        self._obs[:] = 0
        self._legal = None if self._open is None else self._open.copy()
        self.terminated[:] = False

    def see(self, agent: str, seen: Any, info: Mapping[str, Any] | None) -> None:
        """What an agent sees now, and which actions it says are legal."""
        seat = self.numbers[agent]
        sight = self._sights[seat]
        self._obs[seat] = sight(seen)
        if self._legal is None:
            return
        mask = seen[MASK] if sight.has_mask else (info or {}).get(MASK)
        if mask is not None and np.any(mask):  # whose game is over may have none left
            self._legal[seat, : len(mask)] = np.asarray(mask) > 0
            self._legal[seat, len(mask) :] = False

    def action(self, agent: str, chosen: Any) -> Any:
        """An action as the agent's own space has it."""
        return self._moves[self.numbers[agent]](chosen)

    def moment(self, acting: Sequence[str], reward: Array) -> Moment:
        legal = None if self._legal is None else self._legal.copy()
        return Moment([self.numbers[agent] for agent in acting], self._obs.copy(), legal, reward, self.terminated.copy())

    def _every_choice(self) -> Array:
        space: Any = self._moves[0].space
        sizes = np.array([one.choices for one in self._moves])
        return np.arange(int(space.n)) < sizes[:, None]


class _Parallel:
    """A copy of a parallel environment."""

    def __init__(self, env: Any, seats: _Seats) -> None:
        self._env, self._seats = env, seats

    def reset(self, seed: int) -> Moment:
        self._seats.clear()
        obs, infos = self._env.reset(seed=seed)
        return self._moment(obs, infos, {})

    def step(self, actions: Mapping[int, Any]) -> Moment:
        seats = self._seats
        acting = {agent: seats.action(agent, actions[seats.numbers[agent]]) for agent in self._env.agents}
        obs, rewards, terminated, _, infos = self._env.step(acting)
        for agent, ended in terminated.items():
            seats.terminated[seats.numbers[agent]] |= bool(ended)
        return self._moment(obs, infos, rewards)

    def frame(self) -> Array:
        return _image(self._env)

    def close(self) -> None:
        self._env.close()

    def _moment(self, obs: Mapping[str, Any], infos: Mapping[str, Any], rewards: Mapping[str, float]) -> Moment:
        for agent, seen in obs.items():
            self._seats.see(agent, seen, infos.get(agent))
        reward = np.array([rewards.get(agent, 0.0) for agent in self._seats.agents], np.float64)
        return self._seats.moment(self._env.agents, reward)


class _InTurns:
    """A copy of an environment whose agents act one after another (AEC)."""

    def __init__(self, env: Any, seats: _Seats) -> None:
        self._env, self._seats = env, seats

    def reset(self, seed: int) -> Moment:
        self._seats.clear()
        self._env.reset(seed=seed)
        return self._moment()

    def step(self, actions: Mapping[int, Any]) -> Moment:
        agent = self._env.agent_selection
        self._env.step(self._seats.action(agent, actions[self._seats.numbers[agent]]))
        return self._moment()

    def frame(self) -> Array:
        return _image(self._env)

    def close(self) -> None:
        self._env.close()

    def _moment(self) -> Moment:
        """Where the game stands when the next agent is to act; those whose game is over are paid and leave before."""
        env, seats = self._env, self._seats
        reward = np.zeros(len(seats.agents))
        while env.agents:
            agent = env.agent_selection
            obs, gained, terminated, truncated, info = env.last()
            seat = seats.numbers[agent]
            reward[seat] += gained
            seats.see(agent, obs, info)
            if not (terminated or truncated):
                return seats.moment([agent], reward)
            seats.terminated[seat] = terminated
            env.step(None)
            if agent in env.agents:
                raise RuntimeError(f"{agent} was out and took its last step, and is still among the agents of the environment")
        return seats.moment([], reward)
