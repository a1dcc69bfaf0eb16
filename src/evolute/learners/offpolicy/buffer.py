"""Replay buffers on the host, between turns, in pieces that states share.

A row is an observation, and facts: the action, the reward, and a flag that says what followed. The next observation is that of
the next row, so each is kept once: after the last step of an episode, and of a turn, comes a void row that has nothing but
the observation. The rows of a turn lie environment by environment.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evolute.core.segment import Segment
from evolute.core.tree import Tree
from evolute.learners.kit.layout import Layout
from evolute.learners.kit.members import Held

GOES_ON, TERMINATED, TIME_LIMIT, VOID = 0.0, 1.0, 2.0, 3.0
"""What follows a row; a void row is no step."""
PIECE_BYTES = 1 << 20
SMALLEST_BYTES = 1 << 23
"""The least that the program has room for; more comes in powers of two, so that growing buffers compile little."""
Array = np.ndarray[Any, Any]


class Rows(NamedTuple):
    """Rows as two arrays: observations [row, …], and facts [row, action …, reward, flag]."""

    obs: Any
    facts: Any


@dataclass(frozen=True)
class Buffer:
    """A member's rows, the oldest first: full pieces of equal length, of which the first `skipped` rows are beyond the
    capacity, and a tail."""

    pieces: tuple[Rows, ...]
    """Of segments."""
    tail: Rows
    skipped: int = 0

    @classmethod
    def empty(cls, shape: tuple[int, ...], dtype: Any, width: int) -> Buffer:
        """A buffer for observations of this shape, and actions of this width."""
        return cls((), Rows(np.zeros((0, *shape), dtype), np.zeros((0, width + 2), np.float32)))

    def __len__(self) -> int:
        return sum(len(piece.facts.array) for piece in self.pieces) + len(self.tail.facts) - self.skipped

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
        return _without_oldest(pieces, tail, size, len(pieces) * size + len(tail.facts) - capacity)

    def newest(self, count: int) -> Buffer:
        """The newest rows alone, as many as these or all."""
        return _without_oldest(self.pieces, self.tail, self.piece_rows, self.skipped + max(0, len(self) - count))

    def arrays(self, which: int) -> list[Array]:
        """The observations (0) or the facts (1) of all rows, one after the other, the oldest first."""
        first, *others = [*(piece[which].array for piece in self.pieces), self.tail[which]]
        return [first[self.skipped :], *others]

    def to_tree(self) -> Tree:
        return {"pieces": [list(piece) for piece in self.pieces], "tail": list(self.tail), "skipped": self.skipped}

    @classmethod
    def from_tree(cls, tree: Tree) -> Buffer:
        return cls(tuple(Rows(*piece) for piece in tree["pieces"]), Rows(*tree["tail"]), tree["skipped"])


@dataclass(frozen=True)
class Mixed:
    """The rows of several buffers one after the other, to be learnt from."""

    parts: tuple[Buffer, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def tail(self) -> Rows:
        return self.parts[-1].tail

    @property
    def row_bytes(self) -> int:
        """The size of a row."""
        return self.parts[-1].row_bytes

    def arrays(self, which: int) -> list[Array]:
        """The observations (0) or the facts (1) of all rows, one after the other."""
        return [array for part in self.parts for array in part.arrays(which)]


def _without_oldest(pieces: Sequence[Rows], tail: Rows, size: int, beyond: int) -> Buffer:
    """The buffer without that many of its oldest rows: whole pieces go, of the next one they are skipped."""
    beyond = max(0, beyond)
    gone = min(beyond // size, len(pieces))
    late = beyond - gone * size
    if whole := tuple(pieces[gone:]):
        return Buffer(whole, Rows(*(array.copy() for array in tail)), late)
    return Buffer((), Rows(*(array[late:].copy() for array in tail)))


def held(buffers: Sequence[Buffer | Mixed], layout: Layout, capacity: int) -> tuple[Rows, Array]:
    """The rows of a cohort as `Held` arrays [member, row, …], filled up with zeros; and how many there are."""
    counts = np.array([len(buffer) for buffer in buffers], np.int32)
    most, least = int(counts.max()), SMALLEST_BYTES // buffers[0].row_bytes
    room = max(most, min(capacity, 1 << (max(most, least, 1) - 1).bit_length()))

    def fill(which: int, member: int, array: Array) -> None:
        start = 0
        for part in buffers[member].arrays(which):
            array[start : start + len(part)] = part
            start += len(part)

    def whole(which: int) -> Held:
        like = buffers[0].tail[which]
        return Held(layout.filled_in((room, *like.shape[1:]), like.dtype, partial(fill, which)))

    return Rows(whole(0), whole(1)), counts
