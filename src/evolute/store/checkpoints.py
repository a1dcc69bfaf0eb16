"""Durable states: one file each, in the tree's own byte form, which ends in its checksum.

A file is written under another name and renamed when it is whole, so nothing half-written is ever read.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evolute.core.order import Ref
from evolute.core.protocols import LostError
from evolute.core.tree import DamagedError, Tree, pack, unpack
from evolute.store.error import StoreError
from evolute.store.guests import Guests
from evolute.store.points import point

_NAME = re.compile(r"m(\d+)-t(\d+)\.state")


@dataclass(frozen=True)
class Checkpoints:
    """The folder of a run's durable states."""

    folder: Path

    def path(self, ref: Ref) -> Path:
        return self.folder / f"m{ref.member:04d}-t{ref.turn:06d}.state"

    def write(self, ref: Ref, tree: Tree) -> int:
        """Make a state durable; returns its size in bytes."""
        final = self.path(ref)
        draft = final.with_suffix(f".{os.getpid()}.tmp")
        buffers = pack(tree)
        try:
            point("checkpoint.begin")
            with draft.open("wb") as file:
                file.writelines(buffers[:1])
                point("checkpoint.half")
                file.writelines(buffers[1:])
                file.flush()
                os.fsync(file.fileno())
            point("checkpoint.written")
            draft.replace(final)
            point("checkpoint.named")
        except OSError as error:
            with contextlib.suppress(OSError):
                draft.unlink()
            raise StoreError(f"cannot write the checkpoint of {ref} to {self.folder}: {error.strerror}") from error
        return sum(map(len, buffers))

    def read(self, ref: Ref) -> Tree:
        """A durable state; raises LostError when it is not there or damaged."""
        return self._load(ref)[0]

    def guest(self, name: str) -> Tree:
        """A player from elsewhere that the run keeps; raises GuestError when it is not there or damaged."""
        return Guests(self.folder.parent).read(name)

    def verify(self, ref: Ref, digest: str | None) -> str | None:
        """None if the state is durable and whole and has this digest, or a sentence that says what is wrong."""
        try:
            found = self._load(ref)[1]
        except LostError as error:
            return str(error)
        return None if digest in (None, found) else "it is another state than the one reported"

    def refs(self) -> set[Ref]:
        """Every state that is durable."""
        if not self.folder.is_dir():
            return set()
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return {Ref(int(name[1]), int(name[2])) for name in found if name}

    def remove(self, refs: Iterable[Ref]) -> None:
        """Let durable states go."""
        for ref in refs:
            point("checkpoint.remove")
            try:
                self.path(ref).unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"cannot remove the checkpoint of {ref} from {self.folder}: {error.strerror}") from error

    def sweep(self) -> None:
        """Remove what a killed process left half-written; make the folder if somebody has removed it."""
        try:
            self.folder.mkdir(exist_ok=True)
            for path in self.folder.glob("*.tmp"):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"cannot write to {self.folder}: {error.strerror}") from error

    def _load(self, ref: Ref) -> tuple[Tree, str]:
        try:
            return unpack(self.path(ref).read_bytes())
        except OSError as error:
            raise LostError(f"no checkpoint of {ref}: {error.strerror}") from error
        except DamagedError as error:
            raise LostError(str(error)) from error
