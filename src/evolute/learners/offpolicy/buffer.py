"""Replay buffers on the host, between turns, in pieces that states share.

A row is an observation, and facts: the action, the reward, and a flag that says what followed. The next observation is that of
the next row, so each is kept once: after the last step of an episode, and of a turn, comes a void row that has nothing but
the observation. The rows of a turn lie environment by environment.

Of stacked frames a row has the newest (`frames.py`). Then rows lead those of an environment, and those of a buffer whose oldest
rows are gone, for their frames alone: they are not drawn, and are not counted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from evolute.core.segment import Segment
from evolute.core.tree import Tree

GOES_ON, TERMINATED, TIME_LIMIT, VOID = 0.0, 1.0, 2.0, 3.0
"""What follows a row; a void row is no step."""
LEADING = 4.0
"""More than that in the flag of a row that is there for its frame alone."""
PIECE_BYTES = 1 << 20
Array = np.ndarray[Any, Any]


class Rows(NamedTuple):
    """Rows as two arrays: observations [row, …], and facts [row, action …, reward, flag]."""

    obs: Any
    facts: Any


@dataclass(frozen=True)
class Buffer:
    """A member's rows, the oldest first: full pieces of equal length, of which the first `skipped` rows are beyond the
    capacity, and a tail. Of those that are left the first `leading` are there for their frames."""

    pieces: tuple[Rows, ...]
    """Of segments."""
    tail: Rows
    skipped: int = 0
    leading: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: Any, width: int, *, leading: int = 0) -> Buffer:
        """A buffer for observations, or frames, of this shape, and actions of this width."""
        return cls((), Rows(np.zeros((0, *shape), dtype), np.zeros((0, width + 2), np.float32)), leading=leading)

    def __len__(self) -> int:
        return len(self.places) if self.leading else self.kept

    @property
    def kept(self) -> int:
        """How many rows there are, with the leading ones."""
        return sum(len(piece.facts.array) for piece in self.pieces) + len(self.tail.facts) - self.skipped

    @property
    def places(self) -> Array:
        """Where the rows are that are not leading ones, among all."""
        flags = np.concatenate([facts[:, -1] for facts in self.arrays(1)])
        return self.leading + np.flatnonzero(flags[self.leading :] < LEADING)

    @property
    def row_bytes(self) -> int:
        """The size of a row."""
        return sum(math.prod(array.shape[1:]) * array.itemsize for array in self.tail)

    @property
    def piece_rows(self) -> int:
        """How many rows make a piece: the power of two that comes next to a megabyte."""
        return int(2 ** max(0, round(math.log2(PIECE_BYTES / self.row_bytes))))

    def extended(self, rows: Rows, capacity: int) -> Buffer:
        """The newest `capacity` rows after these have been appended."""
        tail = Rows(*(np.concatenate(both) for both in zip(self.tail, rows, strict=True)))
        size, pieces = self.piece_rows, list(self.pieces)
        while len(tail.facts) >= size:
            pieces.append(Rows(*(Segment.of(array[:size].copy()) for array in tail)))
            tail = Rows(*(array[size:] for array in tail))
        return replace(self, pieces=tuple(pieces), tail=tail).newest(capacity)

    def newest(self, count: int) -> Buffer:
        """The newest rows alone, as many as these or all, and what leads them: whole pieces go, of the next one rows are
        skipped."""
        beyond, size = self.skipped + self._older_than(count), self.piece_rows
        gone = min(beyond // size, len(self.pieces))
        late = beyond - gone * size
        if whole := self.pieces[gone:]:
            return Buffer(whole, Rows(*(array.copy() for array in self.tail)), late, self.leading)
        return Buffer((), Rows(*(array[late:].copy() for array in self.tail)), leading=self.leading)

    def _older_than(self, count: int) -> int:
        """How many rows are older than the newest `count` and what leads them."""
        if not self.leading:
            return max(0, self.kept - count)
        places = np.append(self.places, self.kept)
        return max(0, int(places[max(0, len(places) - 1 - count)]) - self.leading)

    def arrays(self, which: int) -> list[Array]:
        """The observations (0) or the facts (1) of all rows, one after the other, the oldest first."""
        first, *others = [*(piece[which].array for piece in self.pieces), self.tail[which]]
        return [first[self.skipped :], *others]

    def to_tree(self) -> Tree:
        tree = {"pieces": [list(piece) for piece in self.pieces], "tail": list(self.tail), "skipped": self.skipped}
        return {**tree, "leading": self.leading} if self.leading else tree

    @classmethod
    def from_tree(cls, tree: Tree) -> Buffer:
        pieces = tuple(Rows(*piece) for piece in tree["pieces"])
        return cls(pieces, Rows(*tree["tail"]), tree["skipped"], tree.get("leading", 0))
