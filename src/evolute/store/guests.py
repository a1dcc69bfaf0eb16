"""Players from elsewhere that a run keeps: states of other runs, and exported policies, one file each.

They lie in a folder of their own, since this run's journal could not make them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evolute.core.protocols import GuestError
from evolute.core.tree import DamagedError, Tree, pack, unpack
from evolute.store.error import StoreError
from evolute.store.whole_files import linked, write

IMPORTED = "imported"
SUFFIX = ".guest"


@dataclass(frozen=True)
class Guests:
    """The guests in the folder of a run."""

    run: Path

    @property
    def folder(self) -> Path:
        return self.run / IMPORTED

    def path(self, name: str) -> Path:
        return self.folder / f"{name}{SUFFIX}"

    def write(self, name: str, tree: Tree) -> None:
        """Keep a guest, with its segments in the same file."""
        try:
            self.folder.mkdir(exist_ok=True)
            write(self.path(name), pack(tree), "guest")
        except OSError as error:
            raise StoreError(f"cannot keep the guest {name} in {self.folder}: {error.strerror}") from error

    def link(self, name: str, to: Guests) -> None:
        """The same guest in the folder of another run."""
        to.folder.mkdir(exist_ok=True)
        linked(self.path(name), to.path(name))

    def read(self, name: str) -> Tree:
        """A guest; raises GuestError when it is not there or damaged."""
        return self._load(name)[0]

    def verify(self, name: str, digest: str) -> str | None:
        """None if a guest is there and whole and has this digest, or a sentence that says what is wrong."""
        try:
            found = self._load(name)[1]
        except GuestError as error:
            return str(error)
        return None if digest == found else f"the guest {name} in {self.folder} is not the one that this run has met"

    def _load(self, name: str) -> tuple[Tree, str]:
        try:
            return unpack(self.path(name).read_bytes())
        except OSError as error:
            raise GuestError(f"the guest {name} is not in {self.folder}: {error.strerror}") from error
        except DamagedError as error:
            raise GuestError(f"the guest {name} in {self.folder} is damaged: {error}") from error
