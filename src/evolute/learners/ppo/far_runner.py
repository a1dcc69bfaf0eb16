"""Turns in which actors on other machines act and step, and this process learns from what they send (`free_turn.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolute.core.protocols import Progress
from evolute.envs.actors import Actors
from evolute.envs.interface import HostEnv
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.far_actors import FarActors, FarFragments
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo.free_turn import FreeTurn
from evolute.learners.ppo.host_runner import HostRunner
from evolute.learners.ppo.paced_runner import Cohort
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState


@dataclass(frozen=True)
class FarRunner:
    """Trains in environments that actors on other machines step; evaluates in those that are stepped here."""

    programs: Programs
    env: HostEnv
    actors: FarActors
    max_lag: int
    evaluators: Actors | None = None
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
        if not self.actors.started:
            progress(0.0, "starting actors")
        seeds = [one.seed for one in assignments]
        source = FarFragments(self.actors, spec.policy, cohort.episodes, seeds, envs=spec.envs, unroll=spec.unroll)
        before = self.actors.restarts
        metrics = FreeTurn(cohort, source, self.max_lag).run()
        restarts = {"restarts": float(self.actors.restarts - before)}
        return cohort.results(ring, [{**one, **restarts} for one in metrics])

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        here = HostRunner(self.programs, self.env, self.evaluators)
        return here.evaluate(spec, players, episodes, greedy=greedy, seed=seed, progress=progress)
