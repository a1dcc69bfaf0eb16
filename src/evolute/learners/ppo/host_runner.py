"""Turns and evaluations in environments on the host: one inference for each step of all members, one update for each rollout.

Environments start each turn afresh, from seeds that follow from the order's, since their inner state cannot be saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.actors import Actors
from evolute.envs.interface import HostEnv, Vector, seats_per_game_of
from evolute.learners.kit import host_evaluation, paced_evaluation
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Collector
from evolute.learners.kit.layout import layout
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked
from evolute.learners.ppo import host_turn
from evolute.learners.ppo.host_turn import Inputs, Row
from evolute.learners.ppo.loss import LOSSES
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState
from evolute.learners.ppo.turn_stats import TurnStats


@dataclass(frozen=True)
class HostRunner:
    """Trains and evaluates in environments that are stepped on the host."""

    programs: Programs
    env: HostEnv
    evaluators: Actors | None = None
    """Who steps in evaluations, if not we ourselves."""
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
        turn = HostTurn(self.programs, spec, states, assignments, progress)
        with contextlib.closing(self.env.vector(env_seeds([one.seed for one in assignments], spec.envs))) as vector:
            return turn.run(vector, ring)

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        about = (self.programs, spec.policy, players, episodes)
        if self.evaluators is None:
            evaluate = partial(host_evaluation.evaluate, self.env, *about)
        else:
            opened = partial(self.evaluators.pool, replay=True)
            seats = seats_per_game_of(self.env)
            evaluate = partial(paced_evaluation.evaluate, opened, self.env.observation_space, *about, seats=seats)
        return evaluate(unroll=spec.unroll, greedy=greedy, seed=seed, progress=progress)


def blank_rows(spec: PPOSpec, states: Sequence[MemberState]) -> list[Row]:
    """Members before a turn."""
    shape = (spec.envs, len(spec.channels)) if spec.channels else (spec.envs,)
    zeros, losses = np.zeros(shape, np.float32), np.zeros(len(LOSSES), np.float32)
    return [Row(state.train, zeros, losses, np.float32(1)) for state in states]


class HostTurn:
    """One turn of a cohort: rollouts and updates, alternately."""

    def __init__(
        self,
        programs: Programs,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        progress: Progress,
    ) -> None:
        self.programs, self.spec, self.progress = programs, spec, progress
        self.total = max(one.updates for one in assignments)
        self.layout = layout(len(states))
        self.rows = self.layout.spread(stacked(blank_rows(spec, states)))
        self.hparams = self.layout.spread(stacked([one.hparams for one in assignments]))
        self.keys = stacked([key_data(one.seed) for one in assignments])
        self.updates = stacked([np.int32(one.updates) for one in assignments])
        teachers = [one.teacher for one in assignments]
        self.teachers = () if spec.teacher is None else self.layout.spread(stacked(teachers))
        self.episodes = Episodes(len(states), spec.envs)

    def run(self, vector: Vector, ring: int) -> list[TurnResult]:
        spec = self.spec
        policy = HostPolicy(
            self.programs,
            spec.policy,
            layout=self.layout,
            envs=spec.envs,
            unroll=spec.unroll,
            keys=self.keys,
            greedy=False,
            progress=self.progress,
            lagged=spec.lagged,
        )
        collector = Collector(vector, policy, self.episodes, spec.unroll)
        function, name = partial(host_turn.update, spec), ("update", spec)
        for number in range(self.total):
            self.episodes.over = self.updates <= number
            players = Player(self.rows.train.adam.weights, self.rows.train.obs, self.hparams.normalize_obs)
            trajectory = collector.collect(players, number)
            key, updates, trajectory = self.layout.placed((self.keys, self.updates, trajectory))
            inputs = Inputs(key, self.hparams, updates, trajectory, self.teachers)
            self.rows = self.programs.call(name, function, self.layout, self.rows, inputs, np.int32(number), self.progress)
            self.progress((number + 1) / self.total, "")
        return [self._result(member, row, ring) for member, row in enumerate(self.layout.unstacked(self.rows))]

    def _result(self, member: int, row: Row, ring: int) -> TurnResult:
        stats = TurnStats(self.episodes.stats(member, ring), row.losses, self.updates[member], row.finite)
        return TurnResult(row.train, None, stats, self.episodes.errors.get(member))
