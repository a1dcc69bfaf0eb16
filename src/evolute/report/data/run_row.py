"""One run as a row in a list of runs, without reading all of its journal."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from evolute.runs import folders
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta


def run_row(folder: Path) -> dict[str, Any]:
    """State, best score, what was trained, turns, age and size; a run that cannot be read says why."""
    data: dict[str, Any] = {"run": str(folder), "size": folders.size(folder)}
    try:
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            turns, score, all_failed = journal.turn_count(), journal.best_score(), journal.all_failed()
            meta = journal.meta
        age = time.time() - meta.created
        named = {"env": meta.identity.get("env"), "learner": _learner(meta), "strategy": meta.strategy}
        status = folders.status(folder, meta, all_failed=all_failed)
        return {**data, "status": status, "score": score, "turns": turns, "age": age, **named}
    except (StoreError, KeyError, TypeError, ValueError) as error:
        age = time.time() - folder.stat().st_mtime
        return {**data, "status": "unreadable", "score": None, "turns": 0, "age": age, "error": str(error)}


def _learner(meta: RunMeta) -> str:
    """The learner's name, with the algorithm if it is one of a family, as in `sb3:SAC`."""
    target = str(meta.identity.get("learner", [""])[0])
    return target if target.startswith(f"{meta.learner}:") else meta.learner
