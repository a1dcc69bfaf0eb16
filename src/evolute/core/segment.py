"""Arrays that many states have in common, such as the pieces of a replay buffer: immutable, and known by their digest.

A process holds equal segments once, and hashes each of them once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

DIGEST_BYTES = 16
_HELD: WeakValueDictionary[str, Segment] = WeakValueDictionary()


class Segment:
    """An array that never changes, and its digest."""

    __slots__ = ("__weakref__", "array", "digest")

    array: np.ndarray[Any, Any]
    digest: str

    @classmethod
    def of(cls, array: np.ndarray[Any, Any], digest: str | None = None) -> Segment:
        """The segment with this content, which nobody may change from now on; `digest` is its own, if that is known."""
        if array.dtype.kind not in "biufc":
            raise TypeError(f"a segment holds plain numbers, and this is an array of {array.dtype}")
        array = np.ascontiguousarray(array)
        known = digest or digest_of(array)
        segment = _HELD.get(known)
        if segment is None:
            segment = cls()
            segment.array, segment.digest = array.view(), known
            segment.array.flags.writeable = False
            _HELD[known] = segment
        return segment

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Segment) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"Segment({self.array.dtype} {list(self.array.shape)}, {self.digest[:8]})"


class Absent(NamedTuple):
    """A segment that was left out of a message, since its receiver has it."""

    digest: str


def held(digest: str) -> Segment | None:
    """The segment with this digest, if somebody in this process holds it."""
    return _HELD.get(digest)


def all_held() -> list[Segment]:
    """Every segment that somebody in this process holds."""
    return list(_HELD.values())


def digest_of(array: np.ndarray[Any, Any]) -> str:
    """The digest of an array's type, shape and content, as text."""
    head = f"{array.dtype.str}{list(array.shape)}".encode()
    return blake([head, array.reshape(-1).view(np.uint8).data]).hex()


def blake(buffers: Iterable[Any]) -> bytes:
    """The digest of these bytes, one after the other."""
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for buffer in buffers:
        hasher.update(buffer)
    return hasher.digest()
