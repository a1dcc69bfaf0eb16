"""The files that can be downloaded from a run's page: the best schedule, and the best policy if its learner exports one."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

SCHEDULES = {"schedule.yaml": "yaml", "schedule.csv": "csv"}


class NoDownloadError(LookupError):
    """A run has no file of this name."""


def offered(meta: RunMeta) -> list[str]:
    """The names of the files that a run offers."""
    return [*SCHEDULES, *([] if meta.policy_suffix is None else [f"policy{meta.policy_suffix}"])]


def downloaded(folder: Path, name: str) -> bytes:
    """The content of one of the files that a run offers."""
    with contextlib.closing(Journal.read(folder)) as journal:
        names = offered(journal.meta)
    if name not in names:
        raise NoDownloadError(f"there is no {name}; there are {', '.join(names)}")
    make: Callable[[Path, str], bytes] = _schedule if name in SCHEDULES else _policy
    return make(folder, name)


def _schedule(folder: Path, name: str) -> bytes:
    from evolute.report.data.schedule import schedule_text
    from evolute.runs.result import Run

    run = Run.open(folder)
    return schedule_text(run.best, run, SCHEDULES[name]).encode()


def _policy(folder: Path, name: str) -> bytes:
    from evolute.api import load
    from evolute.runs.export import exportable

    with tempfile.TemporaryDirectory(prefix="evolute-") as scratch:
        path = Path(scratch) / name
        exportable(load(folder).best).save(path)
        return path.read_bytes()
