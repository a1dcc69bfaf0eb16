"""Messages between processes: trees as bytes, as in a checkpoint but without a checksum, which the wire has itself.

Reading a message executes and imports nothing. Its arrays are views of the bytes that were received.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from evolute.core.segment import Absent, Segment, held
from evolute.core.tree import Spec, Tree, flatten, rebuilt, replaced, specified

ALIGNED = 64
"""Every array begins at a multiple of this, so that it can be used where it lies."""
BULK = 1 << 16
"""Arrays of at least this many bytes can travel by themselves, which saves copying them into the message."""
Array = np.ndarray[Any, Any]
Bulk = Callable[[np.dtype[Any], tuple[int, ...]], Array]
"""Gives the next array that travelled by itself, of this type and shape."""


def encoded(tree: Tree, bulk: list[Array] | None = None) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """The message: how long the header is, the header, and the arrays; large ones go into `bulk` instead, if it is given."""
    header, arrays, segments = flatten(tree)
    arrays += [segment.array for segment in segments]
    if bulk is not None:
        bulk += [array for array in arrays if array.nbytes >= BULK]
        arrays = [array for array in arrays if array.nbytes < BULK]
    starts, end = [], _aligned(8 + len(header))
    for array in arrays:
        starts.append(end)
        end += _aligned(array.nbytes)
    message = np.empty(end, np.uint8)
    message[:8] = np.frombuffer(len(header).to_bytes(8, "little"), np.uint8)
    message[8 : 8 + len(header)] = np.frombuffer(header, np.uint8)
    for start, array in zip(starts, arrays, strict=True):
        message[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return message


def decoded(message: bytes | bytearray | memoryview, bulk: Bulk | None = None) -> Tree:
    """The tree of a message; large arrays come from `bulk`, if it is given."""
    view = memoryview(message)
    length = int.from_bytes(view[:8], "little")
    header = bytes(view[8 : 8 + length])
    start = _aligned(8 + length)

    def array(spec: Spec) -> Array:
        nonlocal start
        count = math.prod(spec.shape)
        size = count * spec.dtype.itemsize
        if bulk is not None and size >= BULK:
            return bulk(spec.dtype, spec.shape)
        here, start = start, start + _aligned(size)
        return np.frombuffer(view, spec.dtype, count, here).reshape(spec.shape) if size else np.empty(spec.shape, spec.dtype)

    specs, wanted = specified(header)
    arrays = [array(spec) for spec in specs]
    return rebuilt(header, arrays, [Segment.of(array(spec).copy(), spec.digest) for spec in wanted])


def without(tree: Tree, known: Iterable[str]) -> Tree:
    """The tree without the segments that its receiver has."""
    there = set(known)
    return replaced(tree, Segment, lambda one: Absent(one.digest) if one.digest in there else one)


def completed(tree: Tree) -> Tree:
    """The tree with the segments that were left out of it; the one who asked for it must have held on to them."""

    def found(absent: Absent) -> Segment:
        segment = held(absent.digest)
        if segment is None:
            raise ConnectionError(f"segment {absent.digest} was left out of a message, and is not here either")
        return segment

    return replaced(tree, Absent, found)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
