"""Rollouts of which each row moves at its own pace: who waits for whom, and what each row has come to.

`Rows` is what both paces share. In `PacedCollector` all rows make one rollout, and then wait for the others: weights are fixed
in a rollout and noise is drawn for each row and time, so it is the rollout that all rows would make together.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.interface import Moved, Pool
from evolute.envs.lockstep import joined
from evolute.learners.kit.actions import LegalCategories
from evolute.learners.kit.episodes import Array, Episodes
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.paced_acting import PacedPolicy

COMPANY = 1e-3
"""Seconds that rows which are ready wait for others, at most: one call acts for all of them."""
SHARE = 0.1
"""They wait for at most this share of the time that a step usually takes."""


class Rows:
    """All members' rows [row = member * envs + env]: what each observes, and what came of its last action."""

    def __init__(
        self,
        pool: Pool,
        policy: PacedPolicy,
        episodes: Episodes,
        space: gymnasium.Space[Any],
        channels: Sequence[int] = (),
        patience: float | None = None,
    ) -> None:
        self.pool, self.policy, self.episodes, self.channels = pool, policy, episodes, list(channels)
        self.patience = patience
        members, envs = episodes.members, episodes.envs
        self.number = members * envs
        self.first, self.valid = np.ones(self.number, np.float32), np.ones(self.number, np.float32)
        self.waiting, self.started = np.zeros(self.number, bool), np.zeros(self.number, bool)
        """Who has moved and waits for an action, and who has had a first observation."""
        self.results: list[list[Mapping[str, float]]] = [[] for _ in range(members)]
        self._sent = np.zeros(self.number)
        self._took: deque[float] = deque(maxlen=64)
        self.obs: Array = np.zeros((self.number, *(space.shape or ())), space.dtype)
        actions = policy.spec.actions
        self.legal = np.ones((self.number, actions.outputs), np.float32) if isinstance(actions, LegalCategories) else None

    def act(self, chosen: Array, noise: Array) -> Array:
        """Act for these rows, with noise [row, …] for each; what is recorded of it, [row, …]."""
        ready = np.zeros(self.number, np.float32)
        ready[chosen] = 1
        grid = (self.episodes.members, self.episodes.envs)
        obs, first, able = (x.reshape((*grid, *x.shape[1:])) for x in (self.obs, self.first, ready))
        legal = None if self.legal is None else self.legal.reshape((*grid, -1))
        acted = self.policy(noise, obs, first, able, legal).reshape((self.number, -1))
        self.pool.send(chosen, self.policy.to_env(acted[chosen]))
        self.waiting[chosen] = False
        self._sent[chosen] = time.perf_counter()
        return acted

    def moved(self, *, together: bool, patience: float | None = None) -> tuple[Array, Moved]:
        """The rows that have moved: all of them at once if they go `together`, else those that come within a short time.

        Those that have come to their first observation come apart: that was no step.
        """
        least = self.number if together else 1
        some = self.pool.recv(least, self.patience if patience is None else patience)
        moving = self.number - int(self.waiting.sum()) - len(some.rows)
        if patience is None and self.patience is not None and not len(some.rows):
            raise RuntimeError(
                f"after {self.patience:g} s {moving} of {self.number} rows have not moved: do seats wait for one another? "
                "A game whose seats act in turn needs pace=free, or a single seat that is played"
            )
        if not together and moving and len(some.rows):
            some = joined([some, self.pool.recv(moving, self._company())])
        fresh = ~self.started[some.rows]
        first, some = taken(some, fresh), taken(some, ~fresh)
        self._start(first)
        self._took.extend(time.perf_counter() - self._sent[some.rows])
        self.waiting[some.rows] = True
        return first.rows, some

    def step(self, moved: Moved, steps: Callable[[int], int]) -> tuple[Array, Array, Array, Array]:
        """What rows that have moved came to: rewards [row(, channel)], ends, terminations, and whether it was a step at all.

        Members whose environment broke are noted as failed; `steps` says how many steps a row has made by now.
        """
        rows, valid = moved.rows, self.valid[moved.rows]
        reward = self._rewards(moved)
        self._check(moved, reward, steps)
        reward = np.where(np.isfinite(reward), reward, 0) * (valid[:, None] if reward.ndim > 1 else valid)
        over = moved.terminated * valid
        ends = np.maximum(over, moved.truncated * valid)
        self.first[rows], self.valid[rows] = 1 - valid, 1 - ends
        self._see(moved)
        for row, found in sorted(moved.results.items()):
            self.results[row // self.episodes.envs].append(found)
        return reward.astype(np.float32), ends, over, valid

    def _rewards(self, moved: Moved) -> Array:
        """The reward, or those of the channels that are in use."""
        reward = np.asarray(moved.reward, np.float32)
        if self.channels:
            return reward[:, self.channels]
        return reward[:, 0] if reward.ndim > 1 else reward

    def _start(self, moved: Moved) -> None:
        self._check(moved, self._rewards(moved), lambda row: 0)
        self._see(moved)
        self.waiting[moved.rows] = self.started[moved.rows] = True

    def _see(self, moved: Moved) -> None:
        finite = moved.obs.dtype.kind != "f" or np.isfinite(moved.obs).all()
        self.obs[moved.rows] = moved.obs if finite else np.nan_to_num(moved.obs, posinf=0, neginf=0)
        if self.legal is not None:
            self.legal[moved.rows] = 1 if moved.legal is None else moved.legal
        elif moved.legal is not None:
            raise RuntimeError("this game says which actions are legal, and does not say so beforehand: set legal = True in it")

    def _check(self, moved: Moved, reward: Array, steps: Callable[[int], int]) -> None:
        failures = self.pool.failures
        for what, seen in (("a reward", reward), ("an observation", moved.obs)):
            if seen.dtype.kind == "f" and not np.isfinite(seen).all():
                bad = ~np.isfinite(seen.reshape((len(seen), -1))).all(axis=1)
                for row in moved.rows[bad].tolist():
                    self.episodes.broke(row, failures.get(row), what, steps(row))

    def _company(self) -> float:
        return min(COMPANY, SHARE * float(np.median(self._took))) if self._took else 0.0


class PacedCollector:
    """Collects rollouts of which each row moves at its own pace, or all rows `together`."""

    def __init__(self, rows: Rows, unroll: int, *, together: bool) -> None:
        self.rows, self.unroll, self.together = rows, unroll, together
        while not rows.started.all():
            rows.moved(together=True)

    def collect(self, players: Player, number: int) -> Trajectory:
        """The rollout of this number, [member, time, env, …], filled up with zeros to the cohort's capacity."""
        rows, policy, unroll, episodes = self.rows, self.rows.policy, self.unroll, self.rows.episodes
        members, envs = episodes.members, episodes.envs
        grid = (rows.number, unroll)
        seen = np.zeros((rows.number, unroll + 1, *rows.obs.shape[1:]), rows.obs.dtype)
        acted = np.zeros((*grid, policy.width), np.float32)
        reward = np.zeros((*grid, len(rows.channels)) if rows.channels else grid, np.float32)
        terminated, ends, counted = (np.zeros(grid, np.float32) for _ in range(3))
        firsts = np.zeros((rows.number, unroll + 1), np.float32)
        memory, noise = policy.memory, policy.draw(number)
        times, each = np.zeros(rows.number, int), np.arange(rows.number)
        seen[:, 0], firsts[:, 0] = rows.obs, rows.first
        policy.use(players)
        while True:
            over = np.repeat(episodes.over | episodes.failed, envs)
            due = rows.waiting & (times < unroll) & ~over
            if due.any():
                chosen = each[due]
                now = np.minimum(times, unroll - 1).reshape((members, envs))
                member, env = np.indices((members, envs))
                drawn = np.zeros((policy.capacity, envs, noise.shape[-1]), np.float32)
                drawn[:members] = noise[member, now, env]
                acted[chosen, times[chosen]] = rows.act(chosen, drawn)[chosen]
            if rows.waiting.all():
                break
            _, moved = rows.moved(together=self.together)
            at = times[moved.rows]
            got, ended, over_, valid = rows.step(moved, lambda row: number * unroll + int(times[row]) + 1)
            reward[moved.rows, at], ends[moved.rows, at] = got, ended
            terminated[moved.rows, at], counted[moved.rows, at] = over_, valid
            times[moved.rows] += 1
            seen[moved.rows, at + 1], firsts[moved.rows, at + 1] = rows.obs[moved.rows], rows.first[moved.rows]
        episodes.count_rollout(*(self._by_time(x) for x in (reward, ends, counted)))
        fields = [self._by_member(x, policy.capacity) for x in (seen, acted, reward, terminated, ends, firsts, counted)]
        return Trajectory._make([*fields, memory])

    def _by_time(self, array: Array) -> Array:
        """From [row, time, …] to [time, member, env, …]."""
        episodes = self.rows.episodes
        return np.moveaxis(array.reshape((episodes.members, episodes.envs, *array.shape[1:])), 2, 0)

    def _by_member(self, array: Array, capacity: int) -> Array:
        """From [row, time, …] to [member, time, env, …], filled up."""
        episodes = self.rows.episodes
        grid = array.reshape((episodes.members, episodes.envs, *array.shape[1:]))
        filled = np.zeros((capacity, grid.shape[2], episodes.envs, *array.shape[2:]), array.dtype)
        filled[: episodes.members] = np.swapaxes(grid, 1, 2)
        return filled


def taken(moved: Moved, chosen: Array) -> Moved:
    """Some of the rows that have moved."""
    rows, obs, reward, elapsed, terminated, truncated = (field[chosen] for field in moved[:6])
    results = {row: moved.results[row] for row in rows.tolist() if row in moved.results}
    legal = None if moved.legal is None else moved.legal[chosen]
    return Moved(rows, obs, reward, elapsed, terminated, truncated, results, legal)
