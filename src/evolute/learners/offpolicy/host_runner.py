"""Turns and evaluations in environments on the host: one inference for each step of all members, and updates after each
rollout.

Environments start each turn afresh, from seeds that follow from the order's, since their inner state cannot be saved.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import HostEnv
from evolute.learners.kit import host_evaluation, networks, normalise
from evolute.learners.kit.episodes import Episodes, env_seeds
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Collector
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
    """Trains and evaluates in environments that are stepped on the host."""

    programs: Programs
    env: HostEnv
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
        cohort, episodes = Cohort(spec, states, assignments), Episodes(len(states), spec.envs)
        call, size, places, stats = self.programs.call, len(states), cohort.layout, turn.blank_stats(ring)
        rows, inputs = cohort.spread(HostRow(state.train, stats) for state in states), cohort.inputs([True] * size)
        new, players = cohort.blank(), cohort.spread([_blank_player(spec)] * size)
        explore, learn = partial(turn.explorer, spec), partial(turn.on_host, spec)
        with contextlib.closing(self.env.vector(env_seeds([one.seed for one in assignments], spec.envs))) as vector:
            policy = HostPolicy(
                self.programs,
                spec.explorer,
                layout=places,
                envs=spec.envs,
                unroll=spec.unroll,
                keys=cohort.keys(),
                greedy=False,
                progress=progress,
            )
            collector = Collector(vector, policy, episodes, spec.unroll)
            for number in range(cohort.total):
                episodes.over = np.array([one.rollouts <= number for one in assignments])
                players = call(("explore", spec), explore, places, players, (rows.train, inputs.hparams), (), progress)
                trajectory = places.spread(collector.collect(players, number)._replace(memory=()))
                new = turn.appended(spec, new, trajectory, number)
                given = inputs._replace(new=Rows(*map(Held, new)), trajectory=trajectory)
                rows = call(("replay update", spec), learn, places, rows, given, np.int32(number), progress)
                progress((number + 1) / cohort.total, "")
        results = []
        for member, (row, own) in enumerate(zip(places.unstacked(rows), places.views(new), strict=True)):
            ended = row.stats._replace(episodes=episodes.stats(member, ring))
            results.append(TurnResult(row.train, None, cohort.made(member, own), ended, episodes.errors.get(member)))
        return results

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(host_evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(unroll=UNROLL, greedy=greedy, seed=seed, progress=progress)


def _blank_player(spec: ReplaySpec) -> Player:
    moments = normalise.fresh(() if spec.policy.image else spec.actor.obs)
    return Player(np.zeros(networks.size(spec.explorer.network), np.float32), moments, np.float32(0))
