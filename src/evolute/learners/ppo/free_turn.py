"""A turn in which nobody waits: rows act with the newest weights there are, and members learn from what is there meanwhile.

A row's fragment is `unroll` steps of its own; an update takes as many fragments as a member has environments. How many updates
the policy has made since a fragment was begun is its lag. Fragments that lag too far, or that nobody has time for, are dropped.
"""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from evolute.envs.interface import Moved
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.fragment import Array, Fragment, FragmentSource
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.paced_rollout import Rows, Steps

if TYPE_CHECKING:
    from evolute.learners.ppo.paced_runner import Cohort

TICK, LOOK = 0.01, 1.0
"""Seconds after which it is looked whether an update is done, if no row moves, and whether members have failed."""


class Fragments:
    """The fragments that rows are making, with the version of the policy in each step, and noise that nobody gets twice."""

    def __init__(self, rows: Rows, unroll: int) -> None:
        self.rows, self.steps = rows, Steps(rows, unroll)
        self.versions = np.zeros((rows.number, unroll))
        self.draws, self.drawn = 0, np.full(rows.number, -1)
        """How often noise was drawn, and which draw each row's is from."""
        self.noise = rows.policy.draw(0)
        self.policies = np.zeros(rows.episodes.members, int)
        """The version of each member's policy now."""

    def use(self, players: Player, versions: Array) -> None:
        self.rows.policy.use(players)
        self.policies = versions.copy()

    def take(self, done: Array, patience: float) -> list[Fragment]:
        envs = self.rows.episodes.envs
        chosen = np.flatnonzero(self.rows.waiting & ~np.repeat(done, envs))
        if len(chosen):
            self.act(chosen, np.repeat(self.policies, envs))
        started, moved = self.rows.moved(together=False, patience=patience)
        self.begin(started)
        return self.step(moved)

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
        self.steps.begin(rows)

    def act(self, chosen: Array, versions: Array) -> None:
        """Act for these rows; `versions` are those of all rows' policies."""
        self.versions[chosen, self.steps.times[chosen]] = versions[chosen]
        self.steps.act(chosen, self.noise)

    def step(self, moved: Moved) -> list[Fragment]:
        """Take in where rows have moved; the fragments that are whole by that."""
        steps, rows, at = self.steps, moved.rows, self.steps.times[moved.rows]
        steps.step(moved)
        self.rows.settle()
        self.rows.episodes.count_rows(rows, steps.reward[rows, at], steps.ends[rows, at], steps.valid[rows, at])
        whole = rows[steps.times[rows] == steps.unroll]
        found = [self._cut(int(row)) for row in whole]
        self.begin(whole)
        return found

    def _cut(self, row: int) -> Fragment:
        versions, steps = self.versions[row], self.steps.fields
        copied = Trajectory._make([array[row].copy() for array in steps])
        return Fragment(row // self.rows.episodes.envs, row, int(versions[0]), float(versions.mean()), copied)


class FreeTurn:
    """One turn of a cohort; `run` gives metrics of each member."""

    def __init__(self, cohort: Cohort, source: FragmentSource, max_lag: int) -> None:
        self.cohort, self.source, self.max_lag = cohort, source, max_lag
        size, envs = cohort.size, cohort.spec.envs
        self.updates = cohort.updates
        self.versions = np.zeros(size, int)
        """How many updates each member has made."""
        self.queues: list[deque[Fragment]] = [deque(maxlen=max_lag * envs) for _ in range(size)]
        self.lags: list[list[tuple[float, int]]] = [[] for _ in range(size)]
        self.dropped, self.sampled = np.zeros(size, int), np.zeros(size, int)
        """Fragments that were not learnt from, and steps in all of them."""
        self.waiting: list[list[int]] = [[] for _ in range(size)]
        """How many fragments there were when an update took some."""
        self.busy = 0.0

    def run(self) -> list[dict[str, float]]:
        cohort, begun = self.cohort, time.perf_counter()
        self.source.use(cohort.players(), self.versions)
        learning, update = np.zeros(cohort.size, bool), None
        with ThreadPoolExecutor(1) as learner:
            while not (done := self._done()).all():
                if update is not None and update.done():
                    update.result()
                    self.versions += learning
                    players = cohort.players()
                    learning, update = self._begun(learner)  # which goes on while the weights are on their way
                    self.source.use(players, self.versions)
                    cohort.progress(float(np.min(self.versions / np.maximum(self.updates, 1))), "")
                    continue
                if update is None:
                    learning, update = self._begun(learner)
                for fragment in self.source.take(done, LOOK if update is None else TICK):
                    self._put(fragment)
        took = time.perf_counter() - begun
        return [self._metrics(member, took) for member in range(cohort.size)]

    def _done(self) -> Array:
        episodes = self.cohort.episodes
        episodes.over = self.versions >= self.updates
        done: Array = episodes.over | episodes.failed
        return done

    def _put(self, fragment: Fragment) -> None:
        """Queue a fragment; if nobody has had time for the oldest, it goes."""
        member, queue = fragment.member, self.queues[fragment.member]
        self.dropped[member] += len(queue) == queue.maxlen
        self.sampled[member] += len(fragment.steps.valid)
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
        numbers[ready] = self.versions[ready]
        return numbers

    def _batch(self, ready: Array) -> Trajectory:
        """A rollout of each member that is ready, [member, time, env, …], made of its oldest fragments."""
        envs = self.cohort.spec.envs
        taken = {}
        for member in np.flatnonzero(ready).tolist():
            self.waiting[member].append(len(self.queues[member]))
            oldest = [self.queues[member].popleft() for _ in range(envs)]
            version = int(self.versions[member])
            self.lags[member] += [(version - one.mean_version, version - one.first_version) for one in oldest]
            taken[member] = sorted(oldest, key=lambda one: one.row)
        like = next(iter(taken.values()))[0].steps
        fields = []
        for place, example in enumerate(like):
            array = np.zeros((self.cohort.size, envs, *example.shape), example.dtype)
            for member, some in taken.items():
                array[member] = [one.steps[place] for one in some]
            fields.append(array if Trajectory._fields[place] == "memory" else np.swapaxes(array, 1, 2))
        return Trajectory(*fields)

    def _metrics(self, member: int, took: float) -> dict[str, float]:
        lags = np.array(self.lags[member] or [(0.0, 0)])
        return {
            "samples_per_second": float(self.sampled[member] / took),
            "queue": float(np.mean(self.waiting[member] or [0])),
            "lag": float(lags[:, 0].mean()),
            "lag_max": float(lags[:, 1].max()),
            "dropped": float(self.dropped[member]),
            "idle": max(0.0, 1 - self.busy / took),
        }
