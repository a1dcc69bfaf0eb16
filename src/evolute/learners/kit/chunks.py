"""A turn inside the compiled program, made of calls short enough that progress shows and Ctrl-C is heard."""

from __future__ import annotations

import time
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import numpy as np

from evolute.core.protocols import Progress
from evolute.learners.kit.layout import Layout
from evolute.learners.kit.members import Function, Tree
from evolute.learners.kit.programs import Programs

SLICE = 0.5
"""Seconds of training between two signs of progress."""


class Chunk(NamedTuple):
    """Which parts of a turn to make now, such as updates: the first of them, and how many."""

    start: Any
    count: Any


@dataclass(frozen=True)
class Chunks:
    """Makes all parts of a turn, some at a time; it learns how many take a while."""

    programs: Programs
    _pace: dict[tuple[Hashable, int], float] = field(default_factory=dict)

    def advance(
        self, name: Hashable, function: Function, layout: Layout, rows: Tree, inputs: Tree, *, total: int, progress: Progress
    ) -> Tree:
        """The rows of a cohort after `total` parts of `function(row, inputs, chunk)`."""
        kind, done = (name, layout.rows), 0
        while done < total:
            count = max(1, round(self._pace.get(kind, 0) * SLICE))
            chunk = Chunk(np.int32(done), np.int32(min(count, total - done)))
            started = time.perf_counter()
            rows = self.programs.call(name, function, layout, rows, inputs, chunk, progress)
            jax.block_until_ready(rows)
            done += int(chunk.count)
            progress(done / total, "")
            self._pace[kind] = int(chunk.count) / (time.perf_counter() - started)
        return rows
