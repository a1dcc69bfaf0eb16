"""Host twins of some probes, and envs that go wrong. Importing this registers them with Gymnasium, as `probes/…-v0`."""

from __future__ import annotations

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete


class HostProbe(gymnasium.Env):
    """An episode that shows one number; subclasses say what it is, what is rewarded and when it ends."""

    observation_space = Box(-1.0, 1.0, (1,))
    action_space = Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.time = 0
        self.cue = self.draw()
        return self._obs(), {}

    def step(self, action):
        reward = self.reward(action)
        self.time += 1
        return self._obs(), reward, self.over(), False, {}

    def draw(self):
        return 0.0

    def reward(self, action):
        return 1.0

    def over(self):
        return False

    def _obs(self):
        return np.array([self.cue], np.float32)


class ActionChoice(HostProbe):
    """As `probes.action_choice`."""

    def reward(self, action):
        return 2.0 * action - 1.0

    def over(self):
        return True


class ActionByObs(ActionChoice):
    """As `probes.action_by_obs`."""

    def draw(self):
        return float(self.np_random.choice([-1.0, 1.0]))

    def reward(self, action):
        return self.cue * (2.0 * action - 1.0)


class TrueEnd(HostProbe):
    """As `probes.true_end`, without the time."""

    def over(self):
        return self.time >= 10


class ChangeAction(HostProbe):
    """As `probes.change_action`."""

    def step(self, action):
        moved = super().step(action)
        self.last = action
        return moved

    def reward(self, action):
        return float(self.time > 0 and action != self.last)

    def over(self):
        return self.time >= 9


class Raises(HostProbe):
    """Raises at its 50th step, counted over all episodes."""

    steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps == 50:
            raise RuntimeError("the 50th step")
        return super().step(action)


class NanRewards(HostProbe):
    """Rewards are NaN from the 5th step of an episode on."""

    def reward(self, action):
        return float("nan") if self.time >= 4 else 1.0

    def over(self):
        return self.time >= 10


for env in (HostProbe, ActionChoice, ActionByObs, TrueEnd, ChangeAction, Raises, NanRewards):
    name = "TimeLimit" if env is HostProbe else env.__name__
    gymnasium.register(f"probes/{name}-v0", entry_point=env, max_episode_steps=10 if env in (HostProbe, Raises) else None)
