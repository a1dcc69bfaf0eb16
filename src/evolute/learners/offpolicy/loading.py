"""The rows of a cohort's buffers as its program reads them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evolute.learners.kit.layout import Layout
from evolute.learners.kit.members import Held
from evolute.learners.offpolicy.buffer import Array, Buffer, Rows

SMALLEST_BYTES = 1 << 23
"""The least that the program has room for; more comes in powers of two, so that growing buffers compile little."""


class Loaded(NamedTuple):
    """Arrays [member, row, …], filled up with zeros.

    Of each member so many of `counts` are not leading; where leading ones are among them, `places` says where the others are.
    """

    rows: Rows
    counts: Array
    places: Held | tuple[()]


@dataclass(frozen=True)
class Mixed:
    """The rows of several buffers one after the other, to be learnt from."""

    parts: tuple[Buffer, ...]

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def kept(self) -> int:
        """How many rows there are, with the leading ones."""
        return sum(part.kept for part in self.parts)

    @property
    def leading(self) -> int:
        return self.parts[-1].leading

    @property
    def places(self) -> Array:
        """Where the rows are that are not leading ones, among all."""
        starts = np.cumsum([0, *(part.kept for part in self.parts)])
        return np.concatenate([start + part.places for start, part in zip(starts, self.parts, strict=False)])

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


def loaded(buffers: Sequence[Buffer | Mixed], layout: Layout, capacity: int) -> Loaded:
    """The rows of a cohort."""
    like, counts = buffers[0], np.array([len(buffer) for buffer in buffers], np.int32)
    room = _room(max(buffer.kept for buffer in buffers), SMALLEST_BYTES // like.row_bytes, capacity)
    obs, facts = (
        _held(layout, [buffer.arrays(which) for buffer in buffers], (room, *array.shape[1:]), array.dtype)
        for which, array in enumerate(like.tail)
    )
    drawn = _held(layout, [[buffer.places] for buffer in buffers], (room,), np.int32) if like.leading else ()
    return Loaded(Rows(obs, facts), counts, drawn)


def _held(layout: Layout, parts: Sequence[Sequence[Array]], shape: tuple[int, ...], dtype: Any) -> Held:
    """What each member has, one part after the other."""

    def fill(member: int, array: Array) -> None:
        start = 0
        for part in parts[member]:
            array[start : start + len(part)] = part
            start += len(part)

    return Held(layout.filled_in(shape, dtype, fill))


def _room(most: int, least: int, capacity: int) -> int:
    """For how many rows there is room: few different numbers, also where leading rows go beyond the capacity."""
    if most > capacity:
        return capacity + _power(most - capacity)
    return min(capacity, _power(max(most, least, 1)))


def _power(number: int) -> int:
    """The power of two that is not less."""
    return 1 << (number - 1).bit_length()
