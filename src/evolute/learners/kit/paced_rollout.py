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
        """What games told of each member's episodes."""
        self._told: list[tuple[int, int, Mapping[str, float]]] = []
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
        self._told += [(steps(row), row, found) for row, found in moved.results.items()]
        return reward.astype(np.float32), ends, over, valid

    def settle(self) -> None:
        """Note what games have told by now, in an order that does not depend on who came first."""
        for _, row, found in sorted(self._told, key=lambda one: one[:2]):
            self.results[row // self.episodes.envs].append(found)
        self._told = []

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
            raise RuntimeError("legal actions were given, but the game has legal = False: set legal = True in it")

    def _check(self, moved: Moved, reward: Array, steps: Callable[[int], int]) -> None:
        failures = self.pool.failures
        for what, seen in (("a reward", reward), ("an observation", moved.obs)):
            if seen.dtype.kind == "f" and not np.isfinite(seen).all():
                bad = ~np.isfinite(seen.reshape((len(seen), -1))).all(axis=1)
                for row in moved.rows[bad].tolist():
                    self.episodes.broke(row, failures.get(row), what, steps(row))

    def _company(self) -> float:
        return min(COMPANY, SHARE * float(np.median(self._took))) if self._took else 0.0


class Steps:
    """The steps that rows have made, each in a rollout of its own: arrays [row, time, …], and at what time each row is."""

    def __init__(self, rows: Rows, unroll: int, before: int = 0) -> None:
        self.rows, self.unroll = rows, unroll
        number, policy = rows.number, rows.policy
        grid = (number, unroll)
        self.obs = np.zeros((number, unroll + 1, *rows.obs.shape[1:]), rows.obs.dtype)
        self.acted = np.zeros((*grid, policy.width), np.float32)
        self.reward = np.zeros((*grid, len(rows.channels)) if rows.channels else grid, np.float32)
        self.terminated, self.ends, self.valid, self.elapsed = (np.zeros(grid, np.float32) for _ in range(4))
        self.first = np.zeros((number, unroll + 1), np.float32)
        self.memory = np.zeros((number, policy.spec.network.units), np.float32)
        self.times, self.before = np.zeros(number, int), np.full(number, before)
        """How many steps each row has made in its rollout, and in this turn before it."""

    def begin(self, chosen: Array) -> None:
        """Begin the rollouts of these rows, with what they observe and remember now."""
        self.before[chosen] += self.times[chosen]
        self.times[chosen] = 0
        self.obs[chosen, 0], self.first[chosen, 0] = self.rows.obs[chosen], self.rows.first[chosen]
        self.memory[chosen] = self.rows.policy.memory.reshape((self.rows.number, -1))[chosen]

    def act(self, chosen: Array, noise: Array) -> None:
        """Act for these rows, each with the noise [member, time, env, …] of its own time."""
        envs = self.rows.episodes.envs
        member, env = np.divmod(np.arange(self.rows.number), envs)
        now = np.zeros((self.rows.episodes.members, envs, noise.shape[-1]), np.float32)
        now[member, env] = noise[member, np.minimum(self.times, self.unroll - 1), env]
        self.acted[chosen, self.times[chosen]] = self.rows.act(chosen, now)[chosen]

    def step(self, moved: Moved) -> None:
        """Note what rows that have moved came to."""
        rows, at = moved.rows, self.times[moved.rows]
        reward, ends, terminated, valid = self.rows.step(moved, lambda row: int(self.before[row] + self.times[row]) + 1)
        self.reward[rows, at], self.ends[rows, at] = reward, ends
        self.terminated[rows, at], self.valid[rows, at] = terminated, valid
        self.elapsed[rows, at] = moved.elapsed
        self.obs[rows, at + 1], self.first[rows, at + 1] = self.rows.obs[rows], self.rows.first[rows]
        self.times[rows] += 1

    @property
    def fields(self) -> Trajectory:
        """The arrays of all rows, as a trajectory has them."""
        facts = (self.reward, self.terminated, self.ends, self.first, self.valid, self.memory)
        return Trajectory(self.obs, self.acted, *facts, self.elapsed)


class PacedCollector:
    """Collects rollouts of which each row moves at its own pace, or all rows `together`."""

    def __init__(self, rows: Rows, unroll: int, *, together: bool) -> None:
        self.rows, self.unroll, self.together = rows, unroll, together
        while not rows.started.all():
            rows.moved(together=True)

    def collect(self, players: Player, number: int) -> Trajectory:
        """The rollout of this number, [member, time, env, …]."""
        rows, episodes, steps = self.rows, self.rows.episodes, Steps(self.rows, self.unroll, number * self.unroll)
        steps.begin(np.arange(rows.number))
        rows.policy.use(players)
        noise = rows.policy.draw(number)
        while True:
            over = np.repeat(episodes.over | episodes.failed, episodes.envs)
            due = np.flatnonzero(rows.waiting & (steps.times < self.unroll) & ~over)
            if len(due):
                steps.act(due, noise)
            elif rows.waiting.all():
                break
            steps.step(rows.moved(together=self.together)[1])
        rows.settle()
        episodes.count_rollout(*(np.moveaxis(self._grid(x), 2, 0) for x in (steps.reward, steps.ends, steps.valid)))
        memory = self._grid(steps.memory)
        return Trajectory._make(map(self._by_member, steps.fields._replace(memory=steps.ends)))._replace(memory=memory)

    def _by_member(self, array: Array) -> Array:
        """From [row, time, …] to [member, time, env, …]."""
        return np.swapaxes(self._grid(array), 1, 2)

    def _grid(self, array: Array) -> Array:
        """From [row, …] to [member, env, …]."""
        return array.reshape((self.rows.episodes.members, self.rows.episodes.envs, *array.shape[1:]))


def taken(moved: Moved, chosen: Array) -> Moved:
    """Some of the rows that have moved."""
    rows, obs, reward, elapsed, terminated, truncated = (field[chosen] for field in moved[:6])
    results = {row: moved.results[row] for row in rows.tolist() if row in moved.results}
    legal = None if moved.legal is None else moved.legal[chosen]
    return Moved(rows, obs, reward, elapsed, terminated, truncated, results, legal)
