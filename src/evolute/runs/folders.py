"""Where runs are: find them, find the unfinished one that a config describes, make a new one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from evolute.store.error import StoreError
from evolute.store.journal import FILE, Journal
from evolute.store.lock import holder
from evolute.store.meta import RunMeta
from evolute.store.points import point

CHECKPOINTS = "checkpoints"
STALE = 3600.0


def is_run(folder: Path) -> bool:
    """Whether this folder holds a run."""
    return (folder / FILE).is_file()


def runs(parent: Path) -> list[Path]:
    """The run folders in a folder, newest first; the folder itself if it is one."""
    if is_run(parent):
        return [parent]
    found = [path.parent for path in parent.glob(f"*/{FILE}") if not path.parent.name.startswith(".")]
    return sorted(found, key=lambda path: (path / FILE).stat().st_mtime, reverse=True)


def unfinished(parent: Path, matches: Callable[[RunMeta], bool]) -> Path | None:
    """The newest run here that has not ended and that matches."""
    for folder in runs(parent):
        with contextlib.suppress(StoreError):
            journal = Journal.read(folder)
            meta = journal.meta
            journal.close()
            if meta.ended is None and matches(meta):
                return folder
    return None


def create(
    folder: Path | None, parent: Path, name: str, meta: RunMeta, fill: Callable[[Path, Journal], None] | None = None
) -> Path:
    """A new run: in `folder`, or in the first free `name-N` below `parent`, with what `fill` puts into it at the start.

    It appears whole or not at all.
    """
    parent = parent if folder is None else folder.parent
    draft = parent / f".new-{os.getpid()}-{time.monotonic_ns()}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        _sweep(parent)
        (draft / CHECKPOINTS).mkdir(parents=True)
        point("folder.begin")
        with contextlib.closing(Journal.create(draft, meta)) as journal:
            if fill is not None:
                fill(draft, journal)
        point("folder.filled")
        for target in _free(parent, name) if folder is None else [folder]:
            if _renamed(draft, target):
                point("folder.named")
                return target
        raise StoreError(f"{folder} exists and is not an empty folder: choose another with --folder")
    except (OSError, StoreError) as error:
        shutil.rmtree(draft, ignore_errors=True)
        why = error.strerror if isinstance(error, OSError) else error
        raise StoreError(f"cannot make a run folder in {parent}: {why}") from error


def status(folder: Path, meta: RunMeta, *, all_failed: bool) -> str:
    """finished, running, unfinished, or failed if every member's last turn did and nobody trains them."""
    if meta.ended is not None:
        return "finished"
    if holder(folder) is not None:
        return "running"
    return "failed" if all_failed else "unfinished"


def size(folder: Path) -> int:
    """The bytes of all files in a run folder."""
    total = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def _renamed(draft: Path, target: Path) -> bool:
    """Whether the draft could be given its name; not if somebody else was quicker."""
    try:
        draft.rename(target)
    except OSError as error:
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
            return False
        raise
    return True


def _free(parent: Path, name: str) -> Iterator[Path]:
    number = 1
    while True:
        if not (parent / f"{name}-{number}").exists():
            yield parent / f"{name}-{number}"
        number += 1


def _sweep(parent: Path) -> None:
    """Remove drafts that a killed process left behind."""
    for draft in parent.glob(".new-*"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > STALE:
                shutil.rmtree(draft)
