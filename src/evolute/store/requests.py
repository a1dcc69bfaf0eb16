"""Requests that wait for a decision: a file each in a run's folder, written hidden and renamed when it is whole."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from evolute.core.order import Json
from evolute.store import whole_files
from evolute.store.error import StoreError

FOLDER = "requests"
SUFFIX = ".json"


@dataclass(frozen=True)
class RequestFolder:
    """The requests of a run; those whose names are `known` were taken before, and only their files are left."""

    folder: Path
    known: set[str] = field(default_factory=set)

    def waiting(self, *, tidy: bool = True) -> Sequence[tuple[str, Json]]:
        """The requests that no decision has taken, oldest first; None for the body of one that cannot be read.

        To be `tidy` is to remove the files of known ones, which is for the process that trains the run.
        """
        try:
            found = os.listdir(self._place)  # in most runs there is no such folder, and decisions come often
        except OSError:
            return ()
        names = sorted(file.removesuffix(SUFFIX) for file in found if file.endswith(SUFFIX) and not file.startswith("."))
        if tidy:
            self.remove(name for name in names if name in self.known)
        return [(name, self._body(name)) for name in names if name not in self.known]

    def remove(self, names: Iterable[str]) -> None:
        """Forget requests that were taken."""
        for name in names:
            self.known.add(name)
            self._path(name).unlink(missing_ok=True)

    def withdraw(self, name: str) -> bool:
        """Take a request back; False if it was not there any more."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def put(self, body: Json, name: str | None = None) -> str:
        """Write a request, and return its name; names are in the order of time."""
        name = name or f"{time.time_ns():020d}-{os.getpid()}"
        try:
            self._place.mkdir(exist_ok=True)
            path = self._path(name)
            whole_files.write(path, [json.dumps(body).encode()], "request", draft=path.with_name(f".{path.name}.tmp"))
        except OSError as error:
            raise StoreError(f"cannot write a request to {self._place}: {error.strerror}") from error
        return name

    @cached_property
    def _place(self) -> Path:
        return self.folder / FOLDER

    def _path(self, name: str) -> Path:
        return self._place / f"{name}{SUFFIX}"

    def _body(self, name: str) -> Json:
        try:
            return json.loads(self._path(name).read_bytes())
        except (OSError, ValueError):
            return None
