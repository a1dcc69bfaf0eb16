"""Environments that Stable-Baselines3 cannot train in."""

import gymnasium


class Strange(gymnasium.Env):
    """An env whose observations Stable-Baselines3 cannot read."""

    def __init__(self, *, kind="text"):
        spaces = gymnasium.spaces
        self.observation_space = {"text": spaces.Text(5), "dict": spaces.Dict({"a": spaces.Box(0, 1, (2,))})}[kind]
        self.action_space = spaces.Discrete(2)
