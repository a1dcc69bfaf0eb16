"""Messages between processes: trees as bytes, as in a checkpoint but without a checksum, which the wire has itself.

Reading a message executes and imports nothing. Its arrays are views of the bytes that were received.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from evolute.core.tree import Tree, flatten, rebuilt, specified

ALIGNED = 64
"""Every array begins at a multiple of this, so that it can be used where it lies."""
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def encoded(tree: Tree) -> Bytes:
    """The message: how long the header is, the header, and the arrays."""
    header, arrays = flatten(tree)
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


def decoded(message: bytes | bytearray | memoryview) -> Tree:
    """The tree of a message."""
    view = memoryview(message)
    length = int.from_bytes(view[:8], "little")
    header = bytes(view[8 : 8 + length])
    arrays, start = [], _aligned(8 + length)
    for dtype, shape in specified(header):
        count = math.prod(shape)
        arrays.append(np.frombuffer(view, dtype, count, start).reshape(shape) if count else np.empty(shape, dtype))
        start += _aligned(count * dtype.itemsize)
    return rebuilt(header, arrays)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED
