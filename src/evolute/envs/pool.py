"""Copies of an environment that move each at its own pace, in threads of this process."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.interface import HostEnv, Moved, Separable, Vector

Array = np.ndarray[Any, Any]
THREADS = 64
"""At most so many rows move at once."""


class Copy:
    """One copy of an environment: its first move is to its first observation, and from then on moves are steps."""

    def __init__(self, env: Separable, seed: int) -> None:
        self._env, self._seed = env, seed
        self._vector: Vector | None = None
        self.error: Exception | None = None

    def move(self, action: Any) -> tuple[Any, float, bool, bool]:
        """Observation, reward, terminated, truncated. After an error the observation is None, and the reward NaN for ever."""
        if self.error is None:
            try:
                return self._moved(action)
            except Exception as error:  # whatever a user's env raises is that member's failure
                self.error = error
        return None, math.nan, False, False

    def close(self) -> None:
        if self._vector is not None:
            self._vector.close()

    def _moved(self, action: Any) -> tuple[Any, float, bool, bool]:
        if self._vector is None:
            self._vector = self._env.row(self._seed)
            obs, reward, terminated, truncated = self._vector.reset(), np.zeros(1), np.zeros(1, bool), np.zeros(1, bool)
        else:
            obs, reward, terminated, truncated = self._vector.step(np.asarray(action)[None])
        if self._vector.failures:
            raise self._vector.failures[0]
        return obs[0], float(reward[0]), bool(terminated[0]), bool(truncated[0])


class Arrivals:
    """What rows have come to: the arrays of all rows, and how those that have arrived are handed out."""

    def __init__(self, rows: int, space: gymnasium.Space[Any]) -> None:
        shape = tuple(space.shape or ())
        self.obs = np.zeros((rows, *shape), space.dtype)
        self.reward = np.zeros(rows, np.float32)
        self.terminated, self.truncated = np.zeros(rows, bool), np.zeros(rows, bool)

    def put(self, row: int, obs: Any, reward: float, terminated: bool, truncated: bool) -> None:
        """Note where a row has arrived; without an observation it stays where it was."""
        if obs is not None:
            self.obs[row] = obs
        self.reward[row], self.terminated[row], self.truncated[row] = reward, terminated, truncated

    def moved(self, rows: Sequence[int]) -> Moved:
        """These rows, in the order of their numbers."""
        places = np.sort(np.array(rows, int))
        taken = (array[places] for array in (self.obs, self.reward, self.terminated, self.truncated))
        obs, reward, terminated, truncated = taken
        return Moved(places, obs, reward, np.ones(len(places), np.float32), terminated, truncated, {})


class ThreadPool:
    """A Pool whose rows move in threads, which is worth it where steps wait for something else than this process."""

    def __init__(self, env: Separable, seeds: Sequence[Sequence[int]]) -> None:
        assert isinstance(env, HostEnv)
        flat = [int(seed) for member in seeds for seed in member]
        self.rows = len(flat)
        self.failures: dict[int, Exception] = {}
        self._copies = [Copy(env, seed) for seed in flat]
        self._arrivals = Arrivals(self.rows, env.observation_space)
        self._done: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._asked: list[queue.SimpleQueue[tuple[int, Any] | None]] = [
            queue.SimpleQueue() for _ in range(min(THREADS, self.rows))
        ]
        self._moving = 0
        self._threads = [threading.Thread(target=self._serve, args=(line,), daemon=True) for line in self._asked]
        for thread in self._threads:
            thread.start()
        self.send(np.arange(self.rows), [None] * self.rows)

    def send(self, rows: Array, actions: Any) -> None:
        for row, action in zip(rows, actions, strict=True):
            self._asked[row % len(self._asked)].put((int(row), action))
        self._moving += len(rows)

    def recv(self, least: int = 1, patience: float | None = None) -> Moved:
        least = min(least, self._moving)
        deadline = None if patience is None else time.monotonic() + patience
        arrived: list[int] = []
        while True:
            wait = len(arrived) < least
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                arrived.append(self._done.get(wait, left) if wait else self._done.get_nowait())
            except queue.Empty:
                break
        self._moving -= len(arrived)
        for row in arrived:
            if (error := self._copies[row].error) is not None:
                self.failures[row] = error
        return self._arrivals.moved(arrived)

    def close(self) -> None:
        """End all threads; those in the middle of a step end after it."""
        for line in self._asked:
            line.put(None)

    def _serve(self, line: queue.SimpleQueue[tuple[int, Any] | None]) -> None:
        mine: dict[int, Copy] = {}
        while (asked := line.get()) is not None:
            row, action = asked
            mine[row] = self._copies[row]
            self._arrivals.put(row, *mine[row].move(action))
            self._done.put(row)
        for copy in mine.values():
            copy.close()
