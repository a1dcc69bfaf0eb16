"""A state in one canonical byte form, used for its digest, its checkpoint and its way between processes.

A state is a tree of dicts, lists, tuples and named tuples over numpy arrays, numbers, strings, bytes, None and segments. The
form is a JSON header and raw array data. Reading it executes and imports nothing: a named tuple of a module that is not
loaded comes back as a Record, which packs to the same bytes.

A segment is an array that many states have in common, such as a piece of a replay buffer (`core/segment.py`). The digest of a
tree covers the digests of its segments, not their bytes, so states with large buffers cost what is new in them.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from evolute.core.segment import DIGEST_BYTES, Segment, blake

Tree = Any
Path = tuple[Any, Any] | None
"""Where a node is: the path of its container, and its key there; of the root, None."""
MAGIC = b"EVOTREE1"
_HEAD = struct.Struct("<8sQ")
_PLAIN = frozenset({float, int, str, bool, bytes, type(None)})


class Record(tuple[Any, ...]):
    """A named tuple whose class is not at hand: its values, and where the class is defined."""

    home: str

    @classmethod
    def of(cls, home: str, values: Iterable[Any]) -> Record:
        record = cls(values)
        record.home = home
        return record


class DamagedError(ValueError):
    """Bytes that are not a whole tree: truncated, altered, or something else altogether."""


class Flat(NamedTuple):
    """A tree as a JSON header, its arrays, whose memory it shares where that is contiguous, and its segments."""

    header: bytes
    arrays: list[np.ndarray[Any, Any]]
    segments: list[Segment]


class Spec(NamedTuple):
    """The type and shape of an array, and the digest of a segment's."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    digest: str = ""


Fetch = Callable[[Spec], Segment]
"""Gives a segment that is not among the bytes that are read; raises DamagedError if it is not whole."""


def pack(tree: Tree, apart: list[Segment] | None = None) -> list[bytes | memoryview]:
    """The tree as buffers whose concatenation `unpack` reads; the last one is the digest of the others.

    The segments are among them, or go into `apart` if that is given; then the last one is the digest of the tree.
    """
    header, arrays, segments = flatten(tree)
    body: list[bytes | memoryview] = [_HEAD.pack(MAGIC, len(header)), header, *map(_bytes, arrays)]
    if apart is None:
        body += [_bytes(segment.array) for segment in segments]
    else:
        apart += segments
    return [*body, blake(body)]


def flatten(tree: Tree) -> Flat:
    """The tree taken apart; a segment that it has several times is one of `segments`."""
    found = _Found([], {})
    header: dict[str, Any] = {"tree": _pack(tree, None, found), "arrays": [_spec(array) for array in found.arrays]}
    segments = list(found.segments.values())
    if segments:
        header["segments"] = [[*_spec(one.array), one.digest] for one in segments]
    return Flat(json.dumps(header, separators=(",", ":")).encode(), found.arrays, segments)


def specified(header: bytes) -> tuple[list[Spec], list[Spec]]:
    """What arrays and which segments belong to a header."""
    read = json.loads(header)
    return [Spec(*_shape(*spec)) for spec in read["arrays"]], [_segment_spec(spec) for spec in read.get("segments", ())]


def rebuilt(header: bytes, arrays: list[np.ndarray[Any, Any]], segments: Iterable[Segment] = ()) -> Tree:
    """The tree that was flattened; the arrays become part of it."""
    return _unpack(json.loads(header)["tree"], arrays, {one.digest: one for one in segments})


def digest(tree: Tree) -> str:
    """The digest of a tree's canonical bytes, as text."""
    return bytes(pack(tree, [])[-1]).hex()


def unpack(data: bytes | bytearray | memoryview, fetch: Fetch | None = None) -> tuple[Tree, str]:
    """The tree that was packed and its digest; raises DamagedError unless every byte is as it was written.

    `fetch` gives the segments of a tree that was packed apart from them.
    """
    view = memoryview(data)
    if len(view) < _HEAD.size + DIGEST_BYTES or bytes(view[:8]) != MAGIC:
        raise DamagedError("not a packed tree, or cut short")
    body, tail = view[:-DIGEST_BYTES], bytes(view[-DIGEST_BYTES:])
    if blake([body]) != tail:
        raise DamagedError("the checksum does not match the content")
    _, length = _HEAD.unpack(body[: _HEAD.size])
    start = _HEAD.size + length
    header = bytes(body[_HEAD.size : start])
    specs, wanted = specified(header)
    arrays = list(_arrays([*specs, *([] if fetch else wanted)], body[start:]))
    if fetch:
        return rebuilt(header, arrays, map(fetch, wanted)), tail.hex()
    segments = map(Segment.of, arrays[len(specs) :])
    end = start + sum(_size(spec) for spec in specs)
    return rebuilt(header, arrays, segments), (blake([body[:end]]) if wanted else tail).hex()


def named_segments(file: BinaryIO) -> set[str]:
    """The digests of the segments of a packed tree, by the beginning of its file, which is not checked."""
    try:
        _, length = _HEAD.unpack(file.read(_HEAD.size))
        return {digest for *_, digest in json.loads(file.read(length)).get("segments", ())}
    except (struct.error, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise DamagedError("not a packed tree, or cut short") from error


def replaced(tree: Tree, kind: type, change: Callable[[Any], Any]) -> Tree:
    """The tree with each node of a type changed; all other leaves are shared with it."""
    if type(tree) is kind:
        return change(tree)
    if type(tree) is dict:
        return {key: replaced(value, kind, change) for key, value in tree.items()}
    if type(tree) in (list, tuple):
        return type(tree)(replaced(value, kind, change) for value in tree)
    if isinstance(tree, Record):
        return Record.of(tree.home, (replaced(value, kind, change) for value in tree))
    if _is_named(tree):
        return type(tree)._make(replaced(value, kind, change) for value in tree)
    return tree


def segments_in(tree: Tree) -> list[Segment]:
    """The segments of a tree."""
    found: list[Segment] = []
    replaced(tree, Segment, found.append)
    return found


def canonical(tree: Tree) -> Tree:
    """A deep copy that shares no memory with `tree` and is what `unpack(pack(tree))` would give."""
    kind = type(tree)
    if kind in _PLAIN:
        return tree
    if kind is dict:
        return {key: canonical(value) for key, value in tree.items()}
    if kind in (list, tuple):
        return kind(canonical(value) for value in tree)
    if isinstance(tree, Record):
        return Record.of(tree.home, (canonical(value) for value in tree))
    if _is_named(tree):
        return type(tree)._make(canonical(value) for value in tree)
    if isinstance(tree, np.ndarray) or _is_jax(tree):
        return np.array(tree, order="C", copy=True)
    return tree


def _spec(array: np.ndarray[Any, Any]) -> list[Any]:
    return [array.dtype.str, list(array.shape)]


def _shape(dtype: str, shape: list[int]) -> tuple[np.dtype[Any], tuple[int, ...]]:
    return np.dtype(dtype), tuple(shape)


def _segment_spec(spec: list[Any]) -> Spec:
    return Spec(*_shape(*spec[:2]), spec[2])


def _size(spec: Spec) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize


def _bytes(array: np.ndarray[Any, Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data if array.nbytes else memoryview(b"")


def _arrays(specs: list[Spec], data: memoryview) -> Iterator[np.ndarray[Any, Any]]:
    offset = 0
    for spec in specs:
        count = math.prod(spec.shape)
        read = np.frombuffer(data, spec.dtype, count, offset) if count else np.empty(0, spec.dtype)
        yield read.reshape(spec.shape).copy()
        offset += _size(spec)


class _Found(NamedTuple):
    """The arrays and segments of a tree that is being packed."""

    arrays: list[np.ndarray[Any, Any]]
    segments: dict[str, Segment]


def _pack(tree: Tree, path: Path, found: _Found) -> Any:
    """JSON for the tree; a container is an object with one key that names its kind, a leaf that is not JSON likewise."""
    kind = type(tree)
    if kind is np.ndarray:
        return _leaf("a", tree, path, found.arrays)
    if tree is None or kind in (bool, int, str):
        return tree
    if kind is float:
        return tree if math.isfinite(tree) else {"f": str(tree)}
    if kind is dict:
        return {"d": [[_key(key, path), _pack(value, (path, key), found)] for key, value in tree.items()]}
    if kind in (list, tuple):
        return {"l" if kind is list else "t": [_pack(value, (path, place), found) for place, value in enumerate(tree)]}
    if isinstance(tree, Record) or _is_named(tree):
        home = tree.home if isinstance(tree, Record) else f"{kind.__module__}:{kind.__qualname__}"
        return {"n": [home, [_pack(value, (path, place), found) for place, value in enumerate(tree)]]}
    if kind is Segment:
        return {"g": found.segments.setdefault(tree.digest, tree).digest}
    if kind is bytes:
        return _leaf("b", np.frombuffer(tree, dtype=np.uint8), path, found.arrays)
    if isinstance(tree, np.generic):
        return _leaf("s", np.asarray(tree), path, found.arrays)
    if _is_jax(tree):
        return _leaf("a", np.asarray(tree), path, found.arrays)
    raise TypeError(
        f"{_place(path)} is a {kind.__module__}.{kind.__qualname__}: a state may hold dicts, lists, tuples, numpy arrays, "
        "numbers, strings, bytes and None; convert it, or give the learner as a class with train, save and load"
    )


def _leaf(name: str, array: np.ndarray[Any, Any], path: Path, arrays: list[np.ndarray[Any, Any]]) -> dict[str, int]:
    dtype = array.dtype
    if dtype.hasobject or dtype.kind == "V":
        raise TypeError(f"{_place(path)} is an array of {dtype}: only plain numbers, booleans and text can be kept")
    arrays.append(array if array.flags.c_contiguous else np.ascontiguousarray(array))
    return {name: len(arrays) - 1}


def _key(key: Any, path: Path) -> str | int:
    if isinstance(key, (str, int)) and not isinstance(key, bool):
        return key
    raise TypeError(f"{_place(path)} has the key {key!r}: the keys of a state's dicts must be str or int")


def _place(path: Path) -> str:
    """Where a node is, as code."""
    return "state" if path is None else f"{_place(path[0])}[{path[1]!r}]"


def _unpack(node: Any, arrays: list[np.ndarray[Any, Any]], segments: dict[str, Segment]) -> Tree:
    if not isinstance(node, dict):
        return node
    ((name, value),) = node.items()
    match name:
        case "d":
            return {key: _unpack(child, arrays, segments) for key, child in value}
        case "l":
            return [_unpack(child, arrays, segments) for child in value]
        case "t":
            return tuple(_unpack(child, arrays, segments) for child in value)
        case "n":
            return _named(value[0], [_unpack(child, arrays, segments) for child in value[1]])
        case "f":
            return float(value)
        case "a":
            return arrays[value]
        case "s":
            return arrays[value][()]
        case "b":
            return arrays[value].tobytes()
        case "g":
            return segments[value]
    raise DamagedError(f"unknown node {name!r}: written by a newer version?")


def _is_named(tree: Any) -> bool:
    return isinstance(tree, tuple) and "_fields" in vars(type(tree))


def _named(home: str, values: list[Any]) -> Any:
    """The named tuple whose class is defined at `home`, if that module is loaded and still has it."""
    module, _, name = home.partition(":")
    found: Any = vars(sys.modules.get(module, object)).get(name)
    if isinstance(found, type) and issubclass(found, tuple) and len(vars(found).get("_fields", ())) == len(values):
        return cast("Any", found)._make(values)
    return Record.of(home, values)


def _is_jax(tree: Any) -> bool:
    """Arrays of JAX become numpy's, which JAX takes as they are; the check imports nothing."""
    return type(tree).__module__.split(".")[0] in ("jax", "jaxlib")
