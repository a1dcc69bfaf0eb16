"""A turn in which nobody waits: rows act with the newest weights there are, and members learn from what is there meanwhile.

A row's fragment is `unroll` steps of its own; an update takes as many fragments as a member has environments. How many updates
the policy has made since a fragment was begun is its lag. Fragments that lag too far, or that nobody has time for, are dropped.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evolute.envs.interface import Moved
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.paced_rollout import Rows

if TYPE_CHECKING:
    from evolute.learners.ppo.paced_runner import Cohort

Array = np.ndarray[Any, Any]
TICK, LOOK = 0.01, 1.0
"""Seconds after which it is looked whether an update is done, if no row moves, and whether members have failed."""


class Fragment(NamedTuple):
    """Some steps of one row: what a Trajectory has of it, the policy's version at its first step, and the mean over all."""

    row: int
    first_version: int
    mean_version: float
    steps: Trajectory


class Fragments:
    """The fragments that rows are making: arrays [row, time, …] of the steps so far."""

    def __init__(self, rows: Rows, unroll: int) -> None:
        number, policy = rows.number, rows.policy
        grid = (number, unroll)
        self.rows, self.unroll = rows, unroll
        self.seen = np.zeros((number, unroll + 1, *rows.obs.shape[1:]), rows.obs.dtype)
        self.acted = np.zeros((*grid, policy.width), np.float32)
        self.reward = np.zeros((*grid, len(rows.channels)) if rows.channels else grid, np.float32)
        self.terminated, self.ends, self.counted = (np.zeros(grid, np.float32) for _ in range(3))
        self.firsts = np.zeros((number, unroll + 1), np.float32)
        self.memory = np.zeros((number, policy.spec.network.units), np.float32)
        self.versions = np.zeros(grid)
        self.times = np.zeros(number, int)
        self.drawn = np.full(number, -1)
        """Which draw of noise each row's is from."""
        self.draws = 0
        self.noise = policy.draw(0)

    def begin(self, rows: Array) -> None:
        """Begin new fragments of these rows, with noise that they have not had."""
        if not len(rows):
            return
        if (self.drawn[rows] == self.draws).any():
            self.draws += 1
            fresh, kept = self.rows.policy.draw(self.draws), np.ones(self.rows.number, bool)
            kept[rows] = False
            member, env = np.divmod(np.flatnonzero(kept), self.rows.episodes.envs)
            fresh[member, :, env] = self.noise[member, :, env]
            self.noise = fresh
        self.drawn[rows] = self.draws
        self.times[rows] = 0
        self.seen[rows, 0], self.firsts[rows, 0] = self.rows.obs[rows], self.rows.first[rows]
        memory = self.rows.policy.memory[: self.rows.episodes.members]
        self.memory[rows] = memory.reshape((self.rows.number, -1))[rows]

    def act(self, chosen: Array, versions: Array) -> None:
        """Act for these rows; `versions` are those of all rows' policies."""
        episodes, capacity = self.rows.episodes, self.rows.policy.capacity
        member, env = np.divmod(np.arange(self.rows.number), episodes.envs)
        noise = np.zeros((capacity, episodes.envs, self.noise.shape[-1]), np.float32)
        noise[member, env] = self.noise[member, self.times, env]
        self.acted[chosen, self.times[chosen]] = self.rows.act(chosen, noise)[chosen]
        self.versions[chosen, self.times[chosen]] = versions[chosen]

    def step(self, moved: Moved) -> list[Fragment]:
        """Take in where rows have moved; the fragments that are whole by that."""
        rows, at = moved.rows, self.times[moved.rows]
        steps = self.rows.episodes.lengths
        reward, ends, over, valid = self.rows.step(moved, lambda row: int(steps.flat[row]) + 1)
        self.rows.episodes.count_rows(rows, reward, ends, valid)
        self.reward[rows, at], self.ends[rows, at] = reward, ends
        self.terminated[rows, at], self.counted[rows, at] = over, valid
        self.seen[rows, at + 1], self.firsts[rows, at + 1] = self.rows.obs[rows], self.rows.first[rows]
        self.times[rows] += 1
        whole = rows[self.times[rows] == self.unroll]
        made = [self._cut(int(row)) for row in whole]
        self.begin(whole)
        return made

    def _cut(self, row: int) -> Fragment:
        arrays = (self.seen, self.acted, self.reward, self.terminated, self.ends, self.firsts, self.counted, self.memory)
        versions = self.versions[row]
        return Fragment(row, int(versions[0]), float(versions.mean()), Trajectory(*(array[row].copy() for array in arrays)))


class FreeTurn:
    """One turn of a cohort; `run` gives metrics of each member."""

    def __init__(self, cohort: Cohort, rows: Rows, max_lag: int) -> None:
        self.cohort, self.rows, self.max_lag = cohort, rows, max_lag
        size, envs = cohort.size, cohort.spec.envs
        self.updates = cohort.updates[:size]
        self.versions = np.zeros(size, int)
        """How many updates each member has made."""
        self.queues: list[deque[Fragment]] = [deque(maxlen=max_lag * envs) for _ in range(size)]
        self.lags: list[list[tuple[float, int]]] = [[] for _ in range(size)]
        self.dropped = np.zeros(size, int)
        self.busy = 0.0

    def run(self) -> list[dict[str, float]]:
        cohort, rows, begun = self.cohort, self.rows, time.perf_counter()
        envs = cohort.spec.envs
        cohort.policy.use(cohort.players())
        fragments = Fragments(rows, cohort.spec.unroll)
        learning, update = np.zeros(cohort.size, bool), None
        with ThreadPoolExecutor(1) as learner:
            while not (done := self._done()).all():
                if update is not None and update.done():
                    update.result()
                    self.versions += learning
                    cohort.policy.use(cohort.players())
                    update = None
                    cohort.progress(float(np.min(self.versions / np.maximum(self.updates, 1))), "")
                    continue
                if update is None:
                    learning, update = self._begun(learner)
                chosen = np.flatnonzero(rows.waiting & ~np.repeat(done, envs))
                if len(chosen):
                    fragments.act(chosen, np.repeat(self.versions, envs))
                started, moved = rows.moved(together=False, patience=LOOK if update is None else TICK)
                fragments.begin(started)
                for fragment in fragments.step(moved):
                    self._put(fragment)
        idle = 1 - self.busy / (time.perf_counter() - begun)
        return [self._metrics(member, idle) for member in range(cohort.size)]

    def _done(self) -> Array:
        episodes = self.cohort.episodes
        episodes.over = self.versions >= self.updates
        done: Array = episodes.over | episodes.failed
        return done

    def _put(self, fragment: Fragment) -> None:
        """Queue a fragment; if nobody has had time for the oldest, it goes."""
        member = fragment.row // self.cohort.spec.envs
        queue = self.queues[member]
        self.dropped[member] += len(queue) == queue.maxlen
        queue.append(fragment)

    def _begun(self, learner: ThreadPoolExecutor) -> tuple[Array, Future[None] | None]:
        """Begin an update of the members that have enough fragments for it."""
        done, ready = self._done(), np.zeros(self.cohort.size, bool)
        for member, queue in enumerate(self.queues):
            while queue and self.versions[member] - queue[0].first_version > self.max_lag:
                queue.popleft()
                self.dropped[member] += 1
            ready[member] = len(queue) >= self.cohort.spec.envs and not done[member]
        if not ready.any():
            return ready, None
        return ready, learner.submit(self._learn, self._batch(ready), self._numbers(ready))

    def _learn(self, trajectory: Trajectory, numbers: Array) -> None:
        begun = time.perf_counter()
        self.cohort.update_some(trajectory, numbers)
        self.busy += time.perf_counter() - begun

    def _numbers(self, ready: Array) -> Array:
        """The number of each member's update; none for those that are not ready."""
        numbers: Array = self.cohort.updates.copy()
        numbers[: len(ready)][ready] = self.versions[ready]
        return numbers

    def _batch(self, ready: Array) -> Trajectory:
        """A rollout of each member that is ready, [member, time, env, …], made of its oldest fragments."""
        envs, capacity = self.cohort.spec.envs, self.cohort.capacity
        taken = {}
        for member in np.flatnonzero(ready).tolist():
            oldest = [self.queues[member].popleft() for _ in range(envs)]
            version = int(self.versions[member])
            self.lags[member] += [(version - one.mean_version, version - one.first_version) for one in oldest]
            taken[member] = sorted(oldest, key=lambda one: one.row)
        like = next(iter(taken.values()))[0].steps
        fields = []
        for place, example in enumerate(like):
            array = np.zeros((capacity, envs, *example.shape), example.dtype)
            for member, some in taken.items():
                array[member] = [one.steps[place] for one in some]
            fields.append(array if Trajectory._fields[place] == "memory" else np.swapaxes(array, 1, 2))
        return Trajectory(*fields)

    def _metrics(self, member: int, idle: float) -> dict[str, float]:
        lags = np.array(self.lags[member] or [(0.0, 0)])
        return {
            "lag": float(lags[:, 0].mean()),
            "lag_max": float(lags[:, 1].max()),
            "dropped": float(self.dropped[member]),
            "idle": max(0.0, idle),
        }
