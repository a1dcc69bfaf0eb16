"""One Gymnasium vector env per member, stepped as one: copies that share a generator share it only within their member."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from evolute.envs.flatten import flat_space, flatten
from evolute.envs.interface import Vector
from evolute.envs.spaces import supported

Array = np.ndarray[Any, Any]


class VectorHostEnv:
    """A HostEnv of vector envs, each made by a call of `make` with the number of copies, seeded by its member's first seed."""

    def __init__(self, make: Callable[[int], VectorEnv[Any, Any, Any]], *, time_limit: int | None = None) -> None:
        self._make = make
        env = make(1)
        _check_autoreset(env)
        supported(env.single_observation_space, env.single_action_space)
        self.observation_space: gymnasium.Space[Any] = flat_space(env.single_observation_space)
        self.action_space: gymnasium.Space[Any] = env.single_action_space
        self.time_limit = time_limit
        env.close()

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        return _Joined([self._make(len(member)) for member in seeds], [int(member[0]) for member in seeds])


class _Joined:
    def __init__(self, envs: Sequence[VectorEnv[Any, Any, Any]], seeds: Sequence[int]) -> None:
        self._envs, self._seeds = envs, seeds
        self._space = envs[0].single_observation_space
        self._obs: list[Array] = []
        self._parts = np.cumsum([env.num_envs for env in envs])[:-1]
        self.failures: dict[int, Exception] = {}

    def reset(self) -> Array:
        self._obs = [self._flat(env.reset(seed=seed)[0]) for env, seed in zip(self._envs, self._seeds, strict=True)]
        return np.concatenate(self._obs)

    def step(self, actions: Any) -> tuple[Array, Array, Array, Array]:
        results = [self._advance(member, part) for member, part in enumerate(np.split(np.asarray(actions), self._parts))]
        self._obs, rewards, terminated, truncated = map(list, zip(*results, strict=True))
        return tuple(np.concatenate(parts) for parts in (self._obs, rewards, terminated, truncated))  # type: ignore[return-value]

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _advance(self, member: int, actions: Array) -> tuple[Array, Array, Array, Array]:
        """Step a member's envs; if they raise, the member has failed and they are not touched again."""
        rows = np.arange(len(actions)) + (self._parts[member - 1] if member else 0)
        if rows[0] not in self.failures:
            try:
                obs, reward, terminated, truncated, _ = self._envs[member].step(actions)
                return self._flat(obs), np.asarray(reward, np.float32), np.asarray(terminated), np.asarray(truncated)
            except Exception as error:  # whatever a user's env raises is that member's failure
                self.failures.update(dict.fromkeys(rows.tolist(), error))
        never = np.zeros(len(rows), bool)
        return self._obs[member], np.full(len(rows), np.nan, np.float32), never, never

    def _flat(self, obs: Any) -> Array:
        return np.array(flatten(self._space, obs, np, batch=1))


def _check_autoreset(env: VectorEnv[Any, Any, Any]) -> None:
    mode = env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP)
    if mode != AutoresetMode.NEXT_STEP:
        raise ValueError(f"a vector env with autoreset_mode={mode}: learners need AutoresetMode.NEXT_STEP, make it with that")
