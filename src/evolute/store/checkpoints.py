"""Durable states: one file each, in the tree's own byte form, which ends in its checksum.

A file is written under another name and renamed when it is whole, so nothing half-written is ever read. Segments, which
states have in common, are files of their own, named by their digest: each is written once, before the first state that names
it, and removed after the last.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evolute.core.order import Ref
from evolute.core.protocols import LostError
from evolute.core.segment import Segment, digest_of, held
from evolute.core.tree import DamagedError, Fetch, Spec, Tree, named_segments, pack, unpack
from evolute.store.error import StoreError
from evolute.store.guests import Guests
from evolute.store.points import point
from evolute.store.whole_files import linked, write

_NAME = re.compile(r"m(\d+)-t(\d+)\.state")


@dataclass(frozen=True)
class Checkpoints:
    """The folder of a run's durable states."""

    folder: Path
    _whole: set[str] = field(default_factory=set, compare=False, repr=False)
    """Digests of segments that were read and found whole, or written."""

    def path(self, ref: Ref) -> Path:
        return self.folder / f"m{ref.member:04d}-t{ref.turn:06d}.state"

    def write(self, ref: Ref, tree: Tree) -> int:
        """Make a state durable; returns its size in bytes, with the segments that it names."""
        segments: list[Segment] = []
        buffers = pack(tree, segments)
        try:
            for segment in segments:
                self._write_segment(segment)
            write(self.path(ref), buffers, "checkpoint")
        except OSError as error:
            raise StoreError(f"cannot write the checkpoint of {ref} to {self.folder}: {error.strerror}") from error
        return sum(map(len, buffers)) + sum(segment.array.nbytes for segment in segments)

    def read(self, ref: Ref) -> Tree:
        """A durable state; raises LostError when it is not there or damaged."""
        return self._load(ref, lambda spec: held(spec.digest) or self._read_segment(spec))[0]

    def guest(self, name: str) -> Tree:
        """A player from elsewhere that the run keeps; raises GuestError when it is not there or damaged."""
        return Guests(self.folder.parent).read(name)

    def verify(self, ref: Ref, digest: str | None) -> str | None:
        """None if the state is durable and whole and has this digest, or a sentence that says what is wrong."""
        try:
            found = self._load(ref, self._verified)[1]
        except LostError as error:
            return str(error)
        return None if digest in (None, found) else "it is another state than the one reported"

    def link(self, ref: Ref, to: Checkpoints) -> None:
        """The same state in another folder, if it is here: the same files under other names, or copies where that cannot be."""
        with contextlib.suppress(DamagedError, FileNotFoundError):  # a run that is being written may let a state go at any time
            for digest in self._named(ref):
                to.segments.mkdir(exist_ok=True)
                linked(self.segments / digest, to.segments / digest)
            linked(self.path(ref), to.path(ref))

    def refs(self) -> set[Ref]:
        """Every state that is durable."""
        if not self.folder.is_dir():
            return set()
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return {Ref(int(name[1]), int(name[2])) for name in found if name}

    def remove(self, refs: Iterable[Ref]) -> None:
        """Let durable states go, and the segments that none of the others names."""
        for ref in refs:
            point("checkpoint.remove")
            try:
                self.path(ref).unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"cannot remove the checkpoint of {ref} from {self.folder}: {error.strerror}") from error
        self._remove_unnamed()

    def sweep(self) -> None:
        """Remove what a killed process left half-written or unnamed; make the folder if somebody has removed it."""
        try:
            self.folder.mkdir(exist_ok=True)
            for path in self.folder.rglob("*.tmp"):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error
        self._remove_unnamed()

    @property
    def segments(self) -> Path:
        """The folder of segments, which is made when there is one."""
        return self.folder / "segments"

    def _load(self, ref: Ref, segment: Fetch) -> tuple[Tree, str]:
        try:
            return unpack(self.path(ref).read_bytes(), segment)
        except OSError as error:
            raise LostError(f"no checkpoint of {ref}: {error.strerror}") from error
        except DamagedError as error:
            raise LostError(str(error)) from error

    def _write_segment(self, segment: Segment) -> None:
        """Write a segment unless it is there."""
        path = self.segments / segment.digest
        if segment.digest in self._whole and path.exists():
            return
        if not path.exists():
            self.segments.mkdir(exist_ok=True)
            content = segment.array.reshape(-1).view(np.uint8).data
            write(path, [content[: len(content) // 2], content[len(content) // 2 :]], "segment")
        self._whole.add(segment.digest)

    def _read_segment(self, spec: Spec) -> Segment:
        """A segment's content; a damaged one is removed, so that it is written again when its states are made again."""
        path = self.segments / spec.digest
        try:
            array = np.fromfile(path, spec.dtype).reshape(spec.shape)
        except ValueError:
            array = np.empty(0, spec.dtype)
        if digest_of(array) != spec.digest:
            path.unlink(missing_ok=True)
            raise DamagedError("the checksum of a segment does not match its content")
        self._whole.add(spec.digest)
        return Segment.of(array, spec.digest)

    def _verified(self, spec: Spec) -> Segment:
        """A segment that is whole on disk, whoever holds it in memory."""
        found = held(spec.digest) if spec.digest in self._whole and (self.segments / spec.digest).exists() else None
        return found or self._read_segment(spec)

    def _named(self, ref: Ref) -> set[str]:
        """The digests of the segments that a state names."""
        with self.path(ref).open("rb") as file:
            return named_segments(file)

    def _remove_unnamed(self) -> None:
        if not self.segments.is_dir():
            return
        named: set[str] = set()
        for ref in self.refs():
            with contextlib.suppress(DamagedError, OSError):  # noticed when it is read
                named |= self._named(ref)
        for path in self.segments.iterdir():
            if path.name not in named:
                point("segment.remove")
                path.unlink(missing_ok=True)
                self._whole.discard(path.name)
