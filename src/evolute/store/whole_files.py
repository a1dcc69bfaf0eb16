"""Files that appear whole or not at all, and are never changed afterwards."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from evolute.store.points import point


def write(final: Path, buffers: Sequence[bytes | memoryview], what: str, draft: Path | None = None) -> None:
    """Write a file under another name, and rename it when it is whole; `what` names its write points."""
    draft = draft or final.with_suffix(f".{os.getpid()}.tmp")
    try:
        point(f"{what}.begin")
        with draft.open("wb") as file:
            file.writelines(buffers[:1])
            point(f"{what}.half")
            file.writelines(buffers[1:])
            file.flush()
            os.fsync(file.fileno())
        point(f"{what}.written")
        draft.replace(final)
        point(f"{what}.named")
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def linked(path: Path, target: Path) -> None:
    """The same file under another name, or a copy where that cannot be; such files are never changed in place."""
    if target.exists():
        return
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, target)
