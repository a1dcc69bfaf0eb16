"""The files that can be downloaded from a run's page: the best schedule, and if its learner exports policies the best one's,
and videos of members."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

VIDEO = re.compile(r"member-(\d{1,6})\.gif")
FRAMES = 1000
"""The longest video."""
SCHEDULES = {"schedule.yaml": "yaml", "schedule.csv": "csv"}


class NoDownloadError(LookupError):
    """A run has no file of this name."""


def offered(meta: RunMeta) -> list[str]:
    """The names of the files that a run offers."""
    return [*SCHEDULES, *([] if meta.policy_suffix is None else [f"policy{meta.policy_suffix}"])]


def downloaded(folder: Path, name: str) -> bytes:
    """The content of one of the files that a run offers."""
    with contextlib.closing(Journal.read(folder)) as journal:
        meta = journal.meta
    names = offered(meta)
    if (asked := VIDEO.fullmatch(name)) and plays(meta):
        return _video(folder, int(asked[1]))
    if name not in names:
        raise NoDownloadError(f"there is no {name}; there are {', '.join(names)}")
    make: Callable[[Path, str], bytes] = _schedule if name in SCHEDULES else _policy
    return make(folder, name)


def plays(meta: RunMeta) -> bool:
    """Whether there may be videos of a run's members."""
    return meta.policy_suffix is not None and bool(meta.identity.get("env"))


def _video(folder: Path, slot: int) -> bytes:
    from evolute.api import load
    from evolute.runs.video import record

    agent = load(folder).member(slot)
    with tempfile.TemporaryDirectory(prefix="evolute-") as scratch:
        path = Path(scratch) / "video.gif"
        record(agent, path, seed=1, greedy=agent.greedy, limit=FRAMES)
        return path.read_bytes()


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
