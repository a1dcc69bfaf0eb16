"""Rollouts in environments on the host: all members' are stepped together, with one inference for each step."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evolute.envs.interface import Vector
from evolute.learners.kit.episodes import Array, Episodes
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_arena import HostArena


class Trajectory(NamedTuple):
    """One rollout of a member, [time, env, …], with one observation and one `first` more; `memory` is that before it.

    `action_outputs` is what was recorded of each action: see `Acted`. `first` is 1 in the first step of an episode, `valid` 0
    where an env was reset instead of stepped. `elapsed` are the seconds that each step took, where rows tell them.
    """

    obs: Any
    action_outputs: Any
    reward: Any
    terminated: Any
    ends: Any
    first: Any
    valid: Any
    memory: Any
    elapsed: Any = ()


class Collector:
    """Steps the environments of all members, rollout after rollout; those of a game may say what is legal."""

    def __init__(self, vector: Vector, policy: HostPolicy, episodes: Episodes, unroll: int) -> None:
        self.vector, self.policy, self.episodes, self.unroll = vector, policy, episodes, unroll
        self.arena = vector if isinstance(vector, HostArena) else None
        self.shape = (episodes.members, episodes.envs)
        self._obs = vector.reset()
        self._first, self._valid = np.ones(self.shape, np.float32), np.ones(self.shape, np.float32)

    def collect(self, players: Player, number: int) -> Trajectory:
        """The rollout of this number, [member, time, env, …]."""
        policy, (rows, envs), unroll = self.policy, self.shape, self.unroll
        obs, first, valid = self._obs, self._first, self._valid
        grid = (rows, unroll, envs)
        seen = np.zeros((rows, unroll + 1, envs, *obs.shape[1:]), obs.dtype)
        acted = np.zeros((*grid, policy.width), np.float32)
        reward, terminated, ends, counted = (np.zeros(grid, np.float32) for _ in range(4))
        firsts = np.zeros((rows, unroll + 1, envs), np.float32)
        memory = policy.memory
        policy.begin(players, number)
        if self.arena is not None:
            self.arena.begin(policy.layout.gathered(players))
        for time in range(unroll):
            now = self._by_member(obs)
            seen[:, time], firsts[:, time] = now, first
            legal = None if self.arena is None else self.arena.legal
            step = policy(now, first, time, None if legal is None else self._by_member(legal))
            obs, gained, ended, over = self.episodes.step(self.vector, policy.to_env(step), valid)
            acted[:, time], reward[:, time] = step, gained
            terminated[:, time], ends[:, time] = over, ended
            counted[:, time] = valid
            first, valid = 1 - valid, 1 - ended
        seen[:, unroll], firsts[:, unroll] = self._by_member(obs), first
        self._obs, self._first, self._valid = obs, first, valid
        return Trajectory(seen, acted, reward, terminated, ends, firsts, counted, memory)

    def _by_member(self, obs: Array) -> Array:
        return obs.reshape((*self.shape, *obs.shape[1:]))
