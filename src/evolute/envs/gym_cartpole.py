"""Gymnasium's vectorised CartPole: one big env for all members, in which every copy draws from its own generator.

The env resets its copies from one generator that all share, so a member's episodes would depend on the others'. One env per
member would be right but, at 8 copies each, 16 times slower. So the big env's generator is replaced by an object that draws
each copy's start from a generator of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv

from evolute.envs.interface import Vector

Array = np.ndarray[Any, Any]
ENTRY_POINT = "gymnasium.envs.classic_control.cartpole:CartPoleVectorEnv"


class GymCartPole:
    """A HostEnv of Gymnasium's CartPole, vectorised."""

    def __init__(self, options: Mapping[str, Any], *, time_limit: int) -> None:
        self._options, self.time_limit = options, time_limit
        env = CartPoleVectorEnv(1, time_limit, **options)
        self.observation_space: gymnasium.Space[Any] = env.single_observation_space
        self.action_space: gymnasium.Space[Any] = env.single_action_space
        self.dt = float(env.tau)

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        rows = [int(seed) for member in seeds for seed in member]
        return _CartPoles(CartPoleVectorEnv(len(rows), self.time_limit, **self._options), rows)

    def row(self, seed: int) -> Vector:
        return self.vector([[seed]])


class _CartPoles:
    def __init__(self, env: CartPoleVectorEnv, seeds: Sequence[int]) -> None:
        self._env, self._seeds = env, seeds
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        self._env.prev_done = np.ones(len(self._seeds), bool)
        self._env.np_random = _OwnDraws(self._env, self._seeds)  # type: ignore[assignment]
        obs: Array = self._env.reset()[0]
        return obs

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        return self._env.step(np.asarray(actions))[:4]

    def close(self) -> None:
        self._env.close()  # type: ignore[no-untyped-call]


class _OwnDraws:
    """Replaces the env's generator: draws [state, copy] for the copies that are due, each from its own generator."""

    def __init__(self, env: CartPoleVectorEnv, seeds: Sequence[int]) -> None:
        self._env = env
        self._generators = [np.random.default_rng(seed) for seed in seeds]

    def uniform(self, low: float, high: float, size: tuple[int, int]) -> Array:
        due = np.flatnonzero(self._env.prev_done)
        draws = np.empty(size)
        for column, copy in enumerate(due):
            draws[:, column] = self._generators[copy].uniform(low, high, size[0])
        return draws
