"""Turns and evaluations in JAX environments: all inside one compiled program."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import numpy as np

from evolute.core.protocols import Progress
from evolute.envs.interface import JaxEnv
from evolute.learners.kit import evaluation, jax_envs, members
from evolute.learners.kit.evaluation import EpisodeResults, Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import key_data, stacked, unstacked
from evolute.learners.ppo import jax_turn, turn_stats
from evolute.learners.ppo.jax_turn import Chunk, Inputs, Row
from evolute.learners.ppo.runner import Assignment, TurnResult
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import MemberState

SLICE = 0.5
"""Seconds of training between two signs of progress."""


@dataclass(frozen=True)
class JaxRunner:
    """Trains and evaluates in an environment that is part of the program."""

    programs: Programs
    env: JaxEnv
    rounds: tuple[int, ...] = (100,)
    time_limit: None = None
    _blanks: dict[PPOSpec, EnvStates] = field(default_factory=dict)
    _pace: dict[tuple[PPOSpec, int], float] = field(default_factory=dict)

    def turn(
        self,
        spec: PPOSpec,
        states: Sequence[MemberState],
        assignments: Sequence[Assignment],
        ring: int,
        progress: Progress,
    ) -> list[TurnResult]:
        blank, stats = self._blank(spec), turn_stats.blank(ring)
        envs = [state.envs if jax_envs.fits(state.envs, blank) else None for state in states]
        rows = [Row(state.train, own or blank, stats) for state, own in zip(states, envs, strict=True)]
        inputs = [
            Inputs(key_data(one.seed), np.array(one.hparams), np.int32(own is None), np.int32(one.updates))
            for one, own in zip(assignments, envs, strict=True)
        ]
        capacity = members.capacity(len(states))
        row = members.spread(stacked(rows, capacity))
        row = self._advance(spec, row, members.spread(stacked(inputs, capacity)), assignments, progress)
        return [TurnResult(new.train, new.envs, new.stats) for new in unstacked(row, len(states))]

    def evaluate(
        self, spec: PPOSpec, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[EpisodeResults]:
        evaluate = partial(evaluation.evaluate, self.env, self.programs, spec.policy, players, episodes)
        return evaluate(greedy=greedy, seed=seed, progress=progress)

    def _advance(self, spec: PPOSpec, row: Any, inputs: Any, assignments: Sequence[Assignment], progress: Progress) -> Any:
        """All updates of a turn, some at a time, so that there is progress to be seen and Ctrl-C is heard."""
        function = partial(jax_turn.updates, spec, self.env)
        kind = (spec, len(assignments))
        total, done = max(one.updates for one in assignments), 0
        while done < total:
            size = max(1, round(self._pace.get(kind, 0) * SLICE))
            chunk = Chunk(np.int32(done), np.int32(min(size, total - done)))
            started = time.perf_counter()
            row = self.programs.call(("turn", spec), function, len(assignments), row, inputs, chunk, progress)
            jax.block_until_ready(row)
            done += int(chunk.count)
            progress(done / total, "")
            self._pace[kind] = int(chunk.count) / (time.perf_counter() - started)
        return row

    def _blank(self, spec: PPOSpec) -> EnvStates:
        if spec not in self._blanks:
            self._blanks[spec] = jax_envs.blank(self.env, spec.envs, spec.network.units)
        return self._blanks[spec]
