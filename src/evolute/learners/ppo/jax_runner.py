"""Turns and evaluations in JAX environments: all inside one compiled program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import JaxEnv, channels_of
from evolute.learners.kit import evaluation, jax_envs, layout
from evolute.learners.kit.chunks import Chunks
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import Copies, EnvStates
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked
from evolute.learners.ppo import jax_turn, turn_stats
from evolute.learners.ppo.jax_turn import Inputs, Row, Surroundings
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.settings import packed
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState


@dataclass(frozen=True)
class JaxRunner:
    """Trains and evaluates in an environment that is part of the program."""

    programs: Programs
    env: JaxEnv
    rounds: tuple[int, ...] = (100,)
    time_limit: None = None
    _blanks: dict[PPOSpec, EnvStates] = field(default_factory=dict)

    @property
    def most(self) -> int | None:
        return layout.most()

    @cached_property
    def _chunks(self) -> Chunks:
        return Chunks(self.programs)

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        blank, stats = self._blank(spec), turn_stats.blank(ring, len(spec.channels))
        envs = [state.envs if jax_envs.fits(state.envs, blank) else None for state in states]
        rows = [Row(state.train, own or blank, stats) for state, own in zip(states, envs, strict=True)]
        inputs = [
            Inputs(key_data(one.seed), packed(one.hparams), np.int32(own is None), np.int32(one.updates), (), one.teacher)
            for one, own in zip(assignments, envs, strict=True)
        ]
        after = advanced(self._chunks, spec, self._surroundings(spec), rows, inputs, progress)
        return [TurnResult(new.train, new.envs, new.stats) for new in after]

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(greedy=greedy, seed=seed, progress=progress)

    def _surroundings(self, spec: PPOSpec) -> Surroundings:
        world = self._copies(spec)
        return lambda player, opponents: world

    def _blank(self, spec: PPOSpec) -> EnvStates:
        if spec not in self._blanks:
            self._blanks[spec] = jax_envs.blank(self._copies(spec), spec.network.units, len(spec.channels))
        return self._blanks[spec]

    def _copies(self, spec: PPOSpec) -> Copies:
        every = channels_of(self.env)
        return Copies(self.env, spec.envs, tuple(every.index(name) for name in spec.channels))


def advanced(
    chunks: Chunks,
    spec: PPOSpec,
    surroundings: Surroundings,
    rows: Sequence[Row],
    inputs: Sequence[Inputs],
    progress: Progress,
) -> list[Row]:
    """The rows of a cohort after a turn."""
    places, total = layout.layout(len(rows)), max(int(one.updates) for one in inputs)
    row, given = (places.spread(stacked(one)) for one in (rows, inputs))
    function = partial(jax_turn.updates, spec, surroundings)
    return places.unstacked(chunks.advance(("turn", spec), function, places, row, given, total=total, progress=progress))
