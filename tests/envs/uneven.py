"""Environments on the host whose steps take unequal times, hang, or end their process."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete

CLOCK = np.random.default_rng()
"""What delays depend on: nothing that is repeated."""


class Uneven(gymnasium.Env):
    """A walk that action and seed decide; episodes have unequal lengths. A step takes up to `delay` seconds, by chance."""

    observation_space = Box(-100.0, 100.0, (2,))
    action_space = Discrete(2)

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.time = self.np_random.normal(), 0
        self.length = int(self.np_random.integers(3, 12))
        return self.seen(), {}

    def step(self, action):
        if self.delay:
            time.sleep(self.delay * CLOCK.random())
        self.time += 1
        self.place += (2 * action - 1) + 0.1 * self.np_random.normal()
        over = self.time >= self.length
        return self.seen(), -abs(self.place), over and self.length % 2 == 0, over and self.length % 2 == 1, {}

    def seen(self):
        return np.array([self.place, self.time], np.float32)


class Stamped(Uneven):
    """Shows a name that no other copy has, in whatever process, and how many steps and resets it has made."""

    observation_space = Box(0.0, float(1 << 24), (2,))

    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(delay)
        self.name, self.made = int.from_bytes(os.urandom(3)), 0

    def seen(self):
        self.made += 1
        return np.array([self.name, self.made], np.float32)


class Raises(Uneven):
    """Raises in the 9th step of one copy in four."""

    def reset(self, *, seed=None, options=None):
        seen = super().reset(seed=seed)
        if seed is not None:
            self.steps, self.bad = 0, seed % 4 == 0
        return seen

    def step(self, action):
        self.steps += 1
        if self.bad and self.steps == 9:
            raise RuntimeError("the simulator exploded")
        return super().step(action)


class Fatal(Uneven):
    """Ends its process, or hangs (`how`), in the 5th step of the copy with this seed, as often as the file has lines left."""

    def __init__(self, how: str, file: str, seed: int) -> None:
        super().__init__()
        self.how, self.file, self.bad, self.steps = how, Path(file), seed, 0

    def reset(self, *, seed=None, options=None):
        if seed is not None:
            self.mine = seed == self.bad
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        left = self.file.read_text().splitlines() if self.mine and self.steps == 5 else []
        if left:
            self.file.write_text("\n".join(left[1:]))
            if self.how == "dies":
                os._exit(3)
            time.sleep(1000)
        return super().step(action)


class DiesOnce(Uneven):
    """Ends its process in some step, unless the file is there, which it leaves."""

    def __init__(self, flag: str) -> None:
        super().__init__()
        self.flag = Path(flag)

    def step(self, action):
        with contextlib.suppress(FileExistsError):
            self.flag.touch(exist_ok=False)
            os._exit(7)
        return super().step(action)
