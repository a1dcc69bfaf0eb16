"""Turns and evaluations in JAX environments: all inside one compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

from evolute.core.protocols import Progress
from evolute.envs.interface import JaxEnv
from evolute.learners.kit import evaluation, jax_envs
from evolute.learners.kit.chunks import Chunks
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import Copies
from evolute.learners.kit.programs import Programs
from evolute.learners.offpolicy import turn
from evolute.learners.offpolicy.cohort import Cohort
from evolute.learners.offpolicy.runner import Assignment, TurnResult
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState
from evolute.learners.offpolicy.turn import JaxRow


@dataclass(frozen=True)
class JaxRunner:
    """Trains and evaluates in an environment that is part of the program."""

    programs: Programs
    env: JaxEnv
    rounds: tuple[int, ...] = (100,)
    most: None = None
    time_limit: None = None

    @cached_property
    def _chunks(self) -> Chunks:
        return Chunks(self.programs)

    def turn(
        self,
        spec: ReplaySpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        cohort = Cohort(spec, states, assignments)
        blank, stats = jax_envs.blank(Copies(self.env, spec.envs), 1), turn.blank_stats(ring)
        envs = [state.envs if jax_envs.fits(state.envs, blank) else None for state in states]
        train, own, begun = cohort.spread((state.train, own or blank, stats) for state, own in zip(states, envs, strict=True))
        rows = JaxRow(train, own, cohort.blank(), begun)
        inputs = cohort.inputs([own is None for own in envs])
        function, name = partial(turn.in_jax, spec, self.env), ("replay turn", spec)
        rows = self._chunks.advance(name, function, cohort.layout, rows, inputs, total=cohort.total, progress=progress)
        made = [cohort.made(member, new) for member, new in enumerate(cohort.layout.views(rows.new))]
        after = cohort.layout.unstacked((rows.train, rows.envs, rows.stats))
        return [TurnResult(train, own, new, ended) for (train, own, ended), new in zip(after, made, strict=True)]

    def evaluate(
        self, spec: ReplaySpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(greedy=greedy, seed=seed, progress=progress)
