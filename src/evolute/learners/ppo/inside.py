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
from evolute.learners.kit import members
from evolute.learners.kit.programs import Programs
from evolute.learners.ppo import evaluate, rollout
from evolute.learners.ppo.evaluate import Played, Player
from evolute.learners.ppo.model import Model
from evolute.learners.ppo.rollout import Chunk, Inputs, Row, Worlds
from evolute.learners.ppo.state import Assignment, State, Trained, key_data, stacked, unstacked

SLICE = 0.5
"""Seconds of training between two signs of progress."""


@dataclass(frozen=True)
class Inside:
    """Trains and plays in an environment that is part of the program."""

    env: JaxEnv
    programs: Programs
    enough: int = 100
    time_limit: None = None
    _blanks: dict[Model, Worlds] = field(default_factory=dict)
    _pace: dict[tuple[Model, int], float] = field(default_factory=dict)

    def turn(
        self, model: Model, states: Sequence[State], tasks: Sequence[Assignment], ring: int, progress: Progress
    ) -> list[Trained]:
        """One turn of each member under its assignment; the last `ring` episodes of each are kept in its tally."""
        blank, tally = self._blank(model), rollout.blank_tally(ring)
        worlds = [state.worlds if _fits(state.worlds, blank) else None for state in states]
        rows = [Row(state.learnt, world or blank, tally) for state, world in zip(states, worlds, strict=True)]
        inputs = [
            Inputs(key_data(task.seed), np.array(task.hparams), np.int32(world is None), np.int32(task.updates))
            for task, world in zip(tasks, worlds, strict=True)
        ]
        capacity = members.capacity(len(states))
        row = members.spread(stacked(rows, capacity))
        row = self._advance(model, row, members.spread(stacked(inputs, capacity)), tasks, progress)
        return [Trained(new.learnt, new.worlds, new.tally) for new in unstacked(row, len(states))]

    def play(
        self, model: Model, players: Sequence[Player], episodes: int, *, greedy: bool, seed: int, progress: Progress
    ) -> list[Played]:
        """Episodes of each member, on luck that is common to all."""
        capacity = members.capacity(len(players))
        blank = np.zeros(episodes, np.float32)
        played = members.spread(stacked([Played(blank, blank)] * len(players), capacity))
        inputs = members.spread(stacked(players, capacity))
        function = partial(evaluate.play, model, self.env, greedy)
        made = self.programs.call(("play", model, greedy), function, len(players), played, inputs, key_data(seed), progress)
        return unstacked(made, len(players))

    def _advance(self, model: Model, row: Any, inputs: Any, tasks: Sequence[Assignment], progress: Progress) -> Any:
        """All updates of a turn, some at a time, so that there is progress to be seen and Ctrl-C is heard."""
        function = partial(rollout.updates, model, self.env)
        kind = (model, len(tasks))
        total, done = max(task.updates for task in tasks), 0
        while done < total:
            size = max(1, round(self._pace.get(kind, 0) * SLICE))
            chunk = Chunk(np.int32(done), np.int32(min(size, total - done)))
            started = time.perf_counter()
            row = self.programs.call(("turn", model), function, len(tasks), row, inputs, chunk, progress)
            jax.block_until_ready(row)
            done += int(chunk.count)
            progress(done / total, "")
            self._pace[kind] = int(chunk.count) / (time.perf_counter() - started)
        return row

    def _blank(self, model: Model) -> Worlds:
        if model not in self._blanks:
            self._blanks[model] = rollout.blank_worlds(model, self.env)
        return self._blanks[model]


def _fits(worlds: Worlds | None, blank: Worlds) -> bool:
    """Whether worlds that were inherited have as many environments, of the same kind, as the heir is to have."""
    if worlds is None:
        return False
    leaves, wanted = jax.tree.leaves(worlds), jax.tree.leaves(blank)
    return [np.shape(leaf) for leaf in leaves] == [np.shape(leaf) for leaf in wanted]
