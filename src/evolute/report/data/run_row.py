"""One run as a row in a list of runs, without reading all of its journal."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from evolute.runs import folders
from evolute.store.error import StoreError
from evolute.store.journal import Journal


def run_row(folder: Path) -> dict[str, Any]:
    """State, best score, turns, age and size; a run that cannot be read says why."""
    data: dict[str, Any] = {"run": str(folder), "size": folders.size(folder)}
    try:
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            turns, score = journal.turn_count(), journal.best_score()
            meta = journal.meta
        age = time.time() - meta.created
        named = {"learner": meta.learner, "strategy": meta.strategy}
        return {**data, "status": folders.status(folder, meta), "score": score, "turns": turns, "age": age, **named}
    except (StoreError, KeyError, TypeError, ValueError) as error:
        age = time.time() - folder.stat().st_mtime
        return {**data, "status": "unreadable", "score": None, "turns": 0, "age": age, "error": str(error)}
