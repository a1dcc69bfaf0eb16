"""A turn inside the compiled program, made of calls short enough that progress shows and Ctrl-C is heard."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import jax
import numpy as np

from evolute.core.protocols import Progress
from evolute.learners.kit import members
from evolute.learners.kit.programs import Programs
from evolute.learners.kit.stacking import stacked, unstacked
from evolute.learners.ppo import jax_turn
from evolute.learners.ppo.jax_turn import Chunk, Inputs, Row, Surroundings
from evolute.learners.ppo.spec import PPOSpec

SLICE = 0.5
"""Seconds of training between two signs of progress."""


@dataclass(frozen=True)
class Chunks:
    """Makes all updates of a turn, some at a time; it learns how many take a while."""

    programs: Programs
    _pace: dict[tuple[PPOSpec, int], float] = field(default_factory=dict)

    def advance(
        self, spec: PPOSpec, surroundings: Surroundings, rows: Sequence[Row], inputs: Sequence[Inputs], progress: Progress
    ) -> list[Row]:
        """The rows after the turn."""
        capacity = members.capacity(len(rows))
        row, given = (members.spread(stacked(one, capacity)) for one in (rows, inputs))
        function = partial(jax_turn.updates, spec, surroundings)
        kind = (spec, len(rows))
        total, done = max(int(one.updates) for one in inputs), 0
        while done < total:
            size = max(1, round(self._pace.get(kind, 0) * SLICE))
            chunk = Chunk(np.int32(done), np.int32(min(size, total - done)))
            started = time.perf_counter()
            row = self.programs.call(("turn", spec), function, len(rows), row, given, chunk, progress)
            jax.block_until_ready(row)
            done += int(chunk.count)
            progress(done / total, "")
            self._pace[kind] = int(chunk.count) / (time.perf_counter() - started)
        return unstacked(row, len(rows))
