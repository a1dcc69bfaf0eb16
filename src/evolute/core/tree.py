"""A state in one canonical byte form, used for its digest, its checkpoint and its way between processes.

A state is a tree of dicts, lists, tuples and named tuples over numpy arrays, numbers, strings, bytes and None. The form
is a JSON header and raw array data. Reading it executes and imports nothing: a named tuple of a module that is not loaded
comes back as a Record, which packs to the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np

Tree = Any
Path = tuple[Any, Any] | None
"""Where a node is: the path of its container, and its key there; of the root, None."""
MAGIC = b"EVOTREE1"
_HEAD = struct.Struct("<8sQ")
DIGEST_BYTES = 16
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


def pack(tree: Tree) -> list[bytes | memoryview]:
    """The tree as buffers whose concatenation `unpack` reads; the last one is the digest of the others."""
    header, arrays = flatten(tree)
    body: list[bytes | memoryview] = [_HEAD.pack(MAGIC, len(header)), header]
    body += [array.reshape(-1).view(np.uint8).data for array in arrays if array.nbytes]
    return [*body, _digest(body)]


def flatten(tree: Tree) -> tuple[bytes, list[np.ndarray[Any, Any]]]:
    """The tree as a JSON header and its arrays, whose memory it shares where that is contiguous."""
    arrays: list[np.ndarray[Any, Any]] = []
    node = _pack(tree, None, arrays)
    specs = [[array.dtype.str, list(array.shape)] for array in arrays]
    return json.dumps({"tree": node, "arrays": specs}, separators=(",", ":")).encode(), arrays


def specified(header: bytes) -> list[tuple[np.dtype[Any], tuple[int, ...]]]:
    """The type and shape of each array that belongs to a header."""
    return [(np.dtype(dtype), tuple(shape)) for dtype, shape in json.loads(header)["arrays"]]


def rebuilt(header: bytes, arrays: list[np.ndarray[Any, Any]]) -> Tree:
    """The tree that was flattened; the arrays become part of it."""
    return _unpack(json.loads(header)["tree"], arrays)


def digest(tree: Tree) -> str:
    """The digest of a tree's canonical bytes, as text."""
    return bytes(pack(tree)[-1]).hex()


def unpack(data: bytes | bytearray | memoryview) -> tuple[Tree, str]:
    """The tree that was packed and its digest; raises DamagedError unless every byte is as it was written."""
    view = memoryview(data)
    if len(view) < _HEAD.size + DIGEST_BYTES or bytes(view[:8]) != MAGIC:
        raise DamagedError("not a packed tree, or cut short")
    body, tail = view[:-DIGEST_BYTES], bytes(view[-DIGEST_BYTES:])
    if _digest([body]) != tail:
        raise DamagedError("the checksum does not match the content")
    _, length = _HEAD.unpack(body[: _HEAD.size])
    header = json.loads(bytes(body[_HEAD.size : _HEAD.size + length]))
    arrays = list(_arrays(header["arrays"], body[_HEAD.size + length :]))
    return _unpack(header["tree"], arrays), tail.hex()


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


def _digest(buffers: list[Any]) -> bytes:
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for buffer in buffers:
        hasher.update(buffer)
    return hasher.digest()


def _arrays(specs: list[Any], data: memoryview) -> Iterator[np.ndarray[Any, Any]]:
    offset = 0
    for dtype, shape in specs:
        kind = np.dtype(dtype)
        count = math.prod(shape)
        yield (
            np.frombuffer(data, dtype=kind, count=count, offset=offset).reshape(shape).copy()
            if count
            else np.empty(shape, kind)
        )
        offset += count * kind.itemsize


def _pack(tree: Tree, path: Path, arrays: list[np.ndarray[Any, Any]]) -> Any:
    """JSON for the tree; a container is an object with one key that names its kind, a leaf that is not JSON likewise."""
    kind = type(tree)
    if kind is np.ndarray:
        return _leaf("a", tree, path, arrays)
    if tree is None or kind in (bool, int, str):
        return tree
    if kind is float:
        return tree if math.isfinite(tree) else {"f": str(tree)}
    if kind is dict:
        return {"d": [[_key(key, path), _pack(value, (path, key), arrays)] for key, value in tree.items()]}
    if kind in (list, tuple):
        return {"l" if kind is list else "t": [_pack(value, (path, place), arrays) for place, value in enumerate(tree)]}
    if isinstance(tree, Record) or _is_named(tree):
        home = tree.home if isinstance(tree, Record) else f"{kind.__module__}:{kind.__qualname__}"
        return {"n": [home, [_pack(value, (path, place), arrays) for place, value in enumerate(tree)]]}
    if kind is bytes:
        return _leaf("b", np.frombuffer(tree, dtype=np.uint8), path, arrays)
    if isinstance(tree, np.generic):
        return _leaf("s", np.asarray(tree), path, arrays)
    if _is_jax(tree):
        return _leaf("a", np.asarray(tree), path, arrays)
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


def _unpack(node: Any, arrays: list[np.ndarray[Any, Any]]) -> Tree:
    if not isinstance(node, dict):
        return node
    ((name, value),) = node.items()
    match name:
        case "d":
            return {key: _unpack(child, arrays) for key, child in value}
        case "l":
            return [_unpack(child, arrays) for child in value]
        case "t":
            return tuple(_unpack(child, arrays) for child in value)
        case "n":
            return _named(value[0], [_unpack(child, arrays) for child in value[1]])
        case "f":
            return float(value)
        case "a":
            return arrays[value]
        case "s":
            return arrays[value][()]
        case "b":
            return arrays[value].tobytes()
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
