"""Turns in environments on the host of which each row moves at its own pace.

With the pace `rollout` all rows wait for the update, which gives the numbers that they would have together (`host_runner.py`);
`ahead` samples the next rollout meanwhile, with the weights from before. With `free` nobody waits (`free_turn.py`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np

from evolute.core.protocols import Progress, silently
from evolute.envs.actors import Actors
from evolute.envs.interface import HostEnv, Paced, Pool, Separable, channels_of, seats_per_game_of
from evolute.envs.pool import ThreadPool
from evolute.learners.kit import paced_evaluation
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_rollout import Trajectory
from evolute.learners.kit.layout import layout
from evolute.learners.kit.paced_acting import PacedPolicy
from evolute.learners.kit.paced_rollout import PacedCollector, Rows
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked
from evolute.learners.ppo import host_turn
from evolute.learners.ppo.free_turn import Fragments, FreeTurn
from evolute.learners.ppo.host_runner import blank_rows
from evolute.learners.ppo.host_turn import Inputs, Row
from evolute.learners.ppo.pace import PaceSpec
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState
from evolute.learners.ppo.turn_stats import TurnStats

PATIENCE = 60.0
"""Seconds without a move after which seats of a game are thought to wait for each other."""


@dataclass(frozen=True)
class PacedRunner:
    """Trains in environments whose rows move at their own pace, in threads, in actors, or by themselves."""

    programs: Programs
    env: HostEnv
    pace: PaceSpec
    actors: Actors | None = None
    evaluators: Actors | None = None
    """Who steps in evaluations; if nobody is set apart for that, whoever else does."""
    rounds: tuple[int, ...] = (4, 16)
    most: None = None

    @property
    def time_limit(self) -> int | None:
        return self.env.time_limit

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        cohort = Cohort(self.programs, spec, states, assignments, progress)
        seeds = env_seeds([one.seed for one in assignments], spec.envs)
        started, before = time.monotonic(), 0 if self.actors is None else self.actors.restarts
        with contextlib.closing(self._pool(seeds, self.actors, replay=self.pace.pace != "free", whole=True)) as pool:
            every = channels_of(self.env)
            used = [every.index(name) for name in spec.channels]
            rows = Rows(pool, cohort.policy, cohort.episodes, self.env.observation_space, used, self._patience)
            if self.pace.pace == "free":
                metrics = self._free_turn(cohort, rows)
            else:
                metrics = self._turn(cohort, PacedCollector(rows, spec.unroll, together=self.pace.pace == "step"))
        told = [{**one, **found} for one, found in zip(metrics, _means(rows.results, ring), strict=True)]
        results = cohort.results(ring, told)
        if self.actors is None:
            return results
        incidents = (*self.actors.incidents(), *(() if self.evaluators is None else self.evaluators.incidents()))
        if self.pace.pace == "free":
            return [one._replace(incidents=incidents) for one in results]
        took, restarts = time.monotonic() - started, float(self.actors.restarts - before)
        speeds = (cohort.updates * spec.batch / took).tolist()
        return [
            one._replace(timing={"samples_per_second": speed, "restarts": restarts}, incidents=incidents)
            for one, speed in zip(results, speeds, strict=True)
        ]

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        opened = partial(self._pool, actors=self.evaluators or self.actors, replay=True, whole=False)
        about = (self.env.observation_space, self.programs, spec.policy, players, episodes)
        seats = seats_per_game_of(self.env)
        evaluate = partial(paced_evaluation.evaluate, opened, *about, patience=self._patience, seats=seats)
        return evaluate(unroll=spec.unroll, greedy=greedy, seed=seed, progress=progress)

    @property
    def _patience(self) -> float | None:
        return None if isinstance(self.env, Separable) else PATIENCE

    def _pool(self, seeds: Sequence[Sequence[int]], actors: Actors | None, *, replay: bool, whole: bool) -> Pool:
        """Rows for several members; `whole` games have no seats that a rule plays because there are too few rows."""
        if actors is not None:
            return actors.pool(seeds, replay=replay)
        if isinstance(self.env, Separable):
            return ThreadPool(self.env, seeds)
        assert isinstance(self.env, Paced)
        return self.env.pool(seeds, whole=whole)

    def _free_turn(self, cohort: Cohort, rows: Rows) -> list[dict[str, float]]:
        turn = FreeTurn(cohort, Fragments(rows, cohort.spec.unroll), self.pace.max_lag)
        if self.actors is None:
            return turn.run()
        before = self.actors.restarts
        metrics = turn.run()
        return [{**one, "restarts": float(self.actors.restarts - before)} for one in metrics]

    def _turn(self, cohort: Cohort, collector: PacedCollector) -> list[dict[str, float]]:
        """Rollouts and updates, alternately, or each rollout while the last one is learnt from."""
        if self.pace.ahead:
            self._turn_ahead(cohort, collector)
            return [{"lag": 1 - 1 / max(int(number), 1)} for number in cohort.updates]
        for number in range(cohort.total):
            cohort.episodes.over = cohort.updates <= number
            cohort.update(collector.collect(cohort.players(), number), number)
            cohort.progress((number + 1) / cohort.total, "")
        return [{} for _ in range(cohort.size)]

    def _turn_ahead(self, cohort: Cohort, collector: PacedCollector) -> None:
        """Every rollout but the first is made while the one before it is learnt from, so its policy is one update behind."""
        last: Trajectory | None = None
        with ThreadPoolExecutor(1) as learner:
            for number in range(cohort.total):
                cohort.episodes.over = cohort.updates <= number
                players = cohort.players()
                update = None if last is None else learner.submit(cohort.update, last, number - 1)
                last = collector.collect(players, number)
                if update is not None:
                    update.result()
                cohort.progress((number + 1) / cohort.total, "")
        if last is not None:
            cohort.update(last, cohort.total - 1)


class Cohort:
    """The members of a turn: their train states as they learn, and what they act with."""

    def __init__(
        self,
        programs: Programs,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        progress: Progress,
    ) -> None:
        self.programs, self.spec, self.progress, self.size = programs, spec, progress, len(states)
        self.total = max(one.updates for one in assignments)
        self.layout = layout(self.size)
        self.rows = self.layout.spread(stacked(blank_rows(spec, states)))
        self.hparams = self.layout.spread(stacked([one.hparams for one in assignments]))
        self.keys = stacked([key_data(one.seed) for one in assignments])
        self.updates = stacked([np.int32(one.updates) for one in assignments])
        self.episodes = Episodes(self.size, spec.envs, len(spec.channels))
        teachers = [one.teacher for one in assignments]
        self.teachers = () if spec.teacher is None else self.layout.spread(stacked(teachers))
        self.policy = PacedPolicy(
            programs,
            spec.policy,
            layout=self.layout,
            envs=spec.envs,
            unroll=spec.unroll,
            keys=self.keys,
            progress=progress,
            lagged=spec.lagged,
        )

    def players(self) -> Player:
        """The members as they act now, on the host: a copy, since an update uses their memory for new weights."""
        train = self.rows.train
        players: Player = self.layout.gathered(Player(train.adam.weights, train.obs, self.hparams.normalize_obs))
        return players

    def update(self, trajectory: Trajectory, number: int) -> None:
        """Learn from the rollout of this number."""
        function: Callable[..., Row] = partial(host_turn.update, self.spec)
        inputs, name = self._inputs(trajectory), ("update", self.spec)
        self.rows = self.programs.call(name, function, self.layout, self.rows, inputs, np.int32(number), silently)
        jax.block_until_ready(self.rows)

    def update_some(self, trajectory: Trajectory, numbers: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        """Learn from a rollout of each member whose number of its update is below that of its updates."""
        function: Callable[..., Row] = partial(_update_one, self.spec)
        inputs, name = (self._inputs(trajectory), self.layout.placed(numbers)), ("update some", self.spec)
        self.rows = self.programs.call(name, function, self.layout, self.rows, inputs, np.int32(0), silently)
        jax.block_until_ready(self.rows)

    def _inputs(self, trajectory: Trajectory) -> Inputs:
        key, updates, trajectory = self.layout.placed((self.keys, self.updates, trajectory))
        return Inputs(key, self.hparams, updates, trajectory, self.teachers)

    def results(self, ring: int, metrics: Sequence[dict[str, float]]) -> list[TurnResult]:
        """What the turn made of each member."""
        made = []
        for member, row in enumerate(self.layout.unstacked(self.rows)):
            stats = TurnStats(self.episodes.stats(member, ring), row.losses, self.updates[member], row.finite)
            made.append(TurnResult(row.train, None, stats, self.episodes.errors.get(member), metrics=metrics[member]))
        return made


def _update_one(spec: PPOSpec, row: Row, inputs: tuple[Inputs, jax.Array], _: jax.Array) -> Row:
    return host_turn.update(spec, row, *inputs)


def _means(results: Sequence[Sequence[Any]], ring: int) -> list[dict[str, float]]:
    """The means of what games tell of each member's last episodes."""
    found = []
    for each in results:
        last = each[-ring:]
        names = dict.fromkeys(name for one in last for name in one)
        found.append({name: float(np.mean([one[name] for one in last if name in one])) for name in names})
    return found
