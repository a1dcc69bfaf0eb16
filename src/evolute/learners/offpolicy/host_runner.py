"""Turns and evaluations in environments on the host: one inference for each step of all members, and updates after each
rollout, or, with `ahead`, during the next one.

Environments start each turn afresh, from seeds that follow from the order's, since their inner state cannot be saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

from evolute.core.protocols import Progress, silently
from evolute.envs.interface import HostEnv, Vector
from evolute.learners.kit import host_evaluation, networks, normalise
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Collector, Trajectory
from evolute.learners.kit.members import Held
from evolute.learners.kit.programs import Programs
from evolute.learners.offpolicy import turn
from evolute.learners.offpolicy.buffer import Rows
from evolute.learners.offpolicy.cohort import Cohort
from evolute.learners.offpolicy.runner import Assignment, TurnResult
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState
from evolute.learners.offpolicy.turn import HostRow

UNROLL = 32
"""Steps of an evaluation for which noise is drawn at once."""


@dataclass(frozen=True)
class HostRunner:
    """Trains and evaluates in environments that are stepped on the host; `ahead`: while members learn."""

    programs: Programs
    env: HostEnv
    ahead: bool = False
    rounds: tuple[int, ...] = (4, 16)
    most: None = None

    @property
    def time_limit(self) -> int | None:
        return self.env.time_limit

    def turn(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        turn = HostTurn(self.programs, Cohort(spec, states, assignments), ring, progress)
        with contextlib.closing(self.env.vector(env_seeds([one.seed for one in assignments], spec.envs))) as vector:
            turn.run(vector, ahead=self.ahead)
        return turn.results()

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(host_evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(unroll=UNROLL, greedy=greedy, seed=seed, progress=progress)


class HostTurn:
    """One turn of a cohort: rollouts, each followed by the updates that are due."""

    def __init__(self, programs: Programs, cohort: Cohort, ring: int, progress: Progress) -> None:
        self.programs, self.cohort, self.ring, self.progress = programs, cohort, ring, progress
        self.spec, self.layout, size = cohort.spec, cohort.layout, cohort.size
        self.episodes = Episodes(size, self.spec.envs)
        stats = turn.blank_stats(ring)
        self.rows = cohort.spread(HostRow(state.train, stats) for state in cohort.states)
        self.inputs = cohort.inputs([True] * size)
        self.new, self.players = cohort.blank(), cohort.spread([_blank_player(self.spec)] * size)

    def run(self, vector: Vector, *, ahead: bool) -> None:
        policy = HostPolicy(
            self.programs,
            self.spec.explorer,
            layout=self.layout,
            envs=self.spec.envs,
            unroll=self.spec.unroll,
            keys=self.cohort.keys(),
            greedy=False,
            progress=self.progress,
        )
        collector = Collector(vector, policy, self.episodes, self.spec.unroll)
        if ahead:
            self._run_ahead(collector)
            return
        for number in range(self.cohort.total):
            self._explore()
            self._learn(self._collected(collector, number), number, self.progress)
            self.progress((number + 1) / self.cohort.total, "")

    def _run_ahead(self, collector: Collector) -> None:
        """Every rollout but the first is made during the updates that follow the one before it."""
        last: Trajectory | None = None
        with ThreadPoolExecutor(1) as learner:
            for number in range(self.cohort.total):
                self._explore()
                learning = None if last is None else learner.submit(self._learn, last, number - 1, silently)
                last = self._collected(collector, number)
                if learning is not None:
                    learning.result()
                self.progress((number + 1) / self.cohort.total, "")
        if last is not None:
            self._learn(last, self.cohort.total - 1, self.progress)

    def _explore(self) -> None:
        """Members collect with what they have learnt so far: a copy, since updates use their memory for new weights."""
        explore, given = partial(turn.explorer, self.spec), (self.rows.train, self.inputs.hparams)
        name = ("explore", self.spec)
        players = self.programs.call(name, explore, self.layout, self.players, given, (), self.progress)
        self.players = jax.block_until_ready(players)

    def _collected(self, collector: Collector, number: int) -> Trajectory:
        """The rollout of this number."""
        self.episodes.over = np.array([one.rollouts <= number for one in self.cohort.assignments])
        return collector.collect(self.players, number)

    def _learn(self, trajectory: Trajectory, number: int, progress: Progress) -> None:
        """The updates that are due after the rollout of this number."""
        placed = self.layout.spread(trajectory._replace(memory=()))
        self.new = turn.appended(self.spec, self.new, placed, number)
        given = self.inputs._replace(new=Rows(*map(Held, self.new)), trajectory=placed)
        learn, name = partial(turn.on_host, self.spec), ("replay update", self.spec)
        rows = self.programs.call(name, learn, self.layout, self.rows, given, np.int32(number), progress)
        self.rows = jax.block_until_ready(rows)

    def results(self) -> list[TurnResult]:
        """What the turn made of each member."""
        made, layout = [], self.layout
        for member, (row, own) in enumerate(zip(layout.unstacked(self.rows), layout.views(self.new), strict=True)):
            ended = row.stats._replace(episodes=self.episodes.stats(member, self.ring))
            error = self.episodes.errors.get(member)
            made.append(TurnResult(row.train, None, self.cohort.made(member, own), ended, error))
        return made


def _blank_player(spec: ReplaySpec) -> Player:
    moments = normalise.fresh(() if spec.policy.image else spec.actor.obs)
    return Player(np.zeros(networks.size(spec.explorer.network), np.float32), moments, np.float32(0))
