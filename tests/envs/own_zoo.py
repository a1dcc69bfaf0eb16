"""Environments of PettingZoo such as a user may write: played in turns, and in parallel by unequal agents."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pettingzoo")

from gymnasium import spaces
from pettingzoo import AECEnv, ParallelEnv


class Counting(AECEnv):
    """Agents move in turn: one of three actions, that of the number of moves so far modulo 3 being illegal.

    Every move costs its agent 0.1, and the other is `paid` as often as the action's number says. Whoever makes the last move
    loses one, and the other wins it.
    """

    def __init__(self, length=5, early=0.0, broken=False, paid=0.0):
        super().__init__()
        self.length, self.early, self.broken, self.paid = length, early, broken, paid
        self.possible_agents = ["player_0", "player_1"]
        self.metadata = {"name": "counting"}

    def observation_space(self, agent):
        return spaces.Box(0, 10, (1,))

    def action_space(self, agent):
        return spaces.Discrete(3)

    def reset(self, seed=None, options=None):
        self.rng = np.random.default_rng(seed)
        self.agents, self.moves = list(self.possible_agents), 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self.agents[0]
        self.infos = {agent: self._info() for agent in self.agents}

    def observe(self, agent):
        return np.array([self.moves], np.float32)

    def step(self, action):
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if self.broken and self.moves == 3:
            raise RuntimeError("the board fell off the table")
        if action == self.moves % 3:
            raise ValueError("an illegal move")
        self._cumulative_rewards[agent] = 0.0
        self.moves += 1
        other = self.possible_agents[self.moves % 2]
        over = self.moves >= self.length or (self.moves == 1 and self.rng.random() < self.early)
        self.rewards = {agent: -0.1 - over, other: 1.0 * over + self.paid * action}
        self.terminations = dict.fromkeys(self.agents, over)
        self.agent_selection = other
        self.infos = {one: self._info() for one in self.agents}
        self._accumulate_rewards()

    def close(self):
        pass

    def _info(self):
        return {"action_mask": (np.arange(3) != self.moves % 3).astype(np.int8)}


class Pictured(Counting):
    """The same with pictures, whose upper rows are white: as many as there were moves."""

    def __init__(self, render_mode=None):
        super().__init__()
        self.render_mode = render_mode

    def render(self):
        return np.where(np.arange(5) < self.moves, 255, 0).repeat(15).reshape(5, 5, 3) if self.render_mode else None


class Alike(ParallelEnv):
    """Two agents with the same spaces, each of which gets its own action. The game lasts so many steps."""

    def __init__(self, length=3):
        self.length, self.possible_agents, self.metadata = length, ["one_0", "one_1"], {"name": "alike"}

    def observation_space(self, agent):
        return spaces.Box(0, 10, (1,))

    def action_space(self, agent):
        return spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.time = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.time += 1
        acting, over = self.agents, self.time == self.length
        self.agents = [] if over else acting
        rewards = {agent: float(action) for agent, action in actions.items()}
        return self._seen(), rewards, dict.fromkeys(acting, over), dict.fromkeys(acting, False), {agent: {} for agent in acting}

    def _seen(self):
        return {agent: np.full(1, self.time, np.float32) for agent in self.possible_agents}


class Hunt(ParallelEnv):
    """Two hunters with two actions each against a runner with three, which sees more and is caught where both meet it.

    The second hunter is out after the first step. The game lasts five steps.
    """

    def __init__(self):
        self.possible_agents = ["hunter_0", "hunter_1", "runner_0"]
        self.metadata = {"name": "hunt", "zero_sum": False}

    def observation_space(self, agent):
        return spaces.Box(0, 10, (3 if agent == "runner_0" else 2,))

    def action_space(self, agent):
        return spaces.Discrete(3 if agent == "runner_0" else 2)

    def reset(self, seed=None, options=None):
        self.agents, self.time = list(self.possible_agents), 0
        return self._seen(), {agent: {} for agent in self.agents}

    def step(self, actions):
        assert all(self.action_space(agent).contains(action) for agent, action in actions.items())
        self.time += 1
        hunters = [action for agent, action in actions.items() if agent != "runner_0"]
        caught = actions["runner_0"] in hunters
        rewards = {agent: float(caught if agent != "runner_0" else not caught) for agent in self.agents}
        seen, acting = self._seen(), self.agents
        ends = {agent: agent == "hunter_1" and self.time == 1 for agent in acting}
        cut = dict.fromkeys(acting, self.time == 5)
        self.agents = [] if self.time == 5 else [agent for agent in acting if not ends[agent]]
        return seen, rewards, ends, cut, {agent: {} for agent in acting}

    def _seen(self):
        return {agent: np.full(self.observation_space(agent).shape, self.time, np.float32) for agent in self.agents}
