"""The runs that a dashboard shows: which there are, whether one has changed, and what a page shows of it, kept for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from evolute.core.order import Json
from evolute.dashboard.downloads import offered
from evolute.report.data.page import page_data
from evolute.report.data.run_row import run_row
from evolute.runs import folders
from evolute.runs.turns import TurnTable
from evolute.store.journal import FILE
from evolute.store.lock import holder

REST = 5.0
"""A run that is still written is read again after this many times the time that reading it took."""
Stamp = tuple[float | bool, ...]


@dataclass
class Book:
    """What was last read of one run."""

    stamp: Stamp
    made: Json
    at: float
    cost: float


@dataclass
class Shelf:
    """Runs by unique names. Only what is on the shelf can be asked for, so no name leads to another place on the disk."""

    places: Sequence[Path]
    _books: dict[str, Book] = field(default_factory=dict)
    _rows: dict[Path, tuple[Stamp, Json]] = field(default_factory=dict)
    _reading: dict[str, Future[Json]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "evolute-dashboard"))

    def runs(self) -> dict[str, Path]:
        """The runs there are now, newest first; of two with the same name the second is `name~2`."""
        named: dict[str, Path] = {}
        for folder in dict.fromkeys(folder.resolve() for place in self.places for folder in folders.runs(place)):
            name, number = folder.name, 1
            while name in named:
                number += 1
                name = f"{folder.name}~{number}"
            named[name] = folder
        return named

    def listing(self) -> list[Json]:
        """One row for each run; a run that has not changed keeps its row, but for its age."""
        return [{**self._row(folder), "id": name, "run": name} for name, folder in self.runs().items()]

    def _row(self, folder: Path) -> Json:
        now, known = stamp(folder), self._rows.get(folder)
        if known is not None and known[0] == now:
            return {**known[1], "age": time.time() - known[1]["created"]}
        made = run_row(folder)
        self._rows[folder] = (now, {**made, "created": time.time() - made["age"]})
        return made

    def stamps(self) -> dict[str, Stamp]:
        """What changes when a run does."""
        return {name: stamp(folder) for name, folder in self.runs().items()}

    def shown(self, name: str, patience: float) -> Json | None:
        """What a page shows of a run; None while reading it takes longer than `patience` seconds.

        What is `stale` should be asked for again. Raises KeyError for a run that is not on the shelf.
        """
        folder = self.runs()[name]
        with self._lock:
            now, book = stamp(folder), self._books.get(name)
            if book is not None and book.stamp == now:
                return book.made
            if book is not None and time.monotonic() - book.at < REST * book.cost:
                return _stale(book)
            if name not in self._reading:
                self._reading[name] = self._pool.submit(self._read, name, folder, now)
            reading = self._reading[name]
        try:
            return reading.result(timeout=0.01 if book is not None else patience)
        except TimeoutError:
            return None if book is None else _stale(book)

    def _read(self, name: str, folder: Path, now: Stamp) -> Json:
        started = time.monotonic()
        try:
            table = TurnTable.read(folder)
            made = {**page_data(table), "id": name, "downloads": offered(table.meta)}
            with self._lock:
                self._books[name] = Book(now, made, time.monotonic(), time.monotonic() - started)
            return made
        finally:
            with self._lock:
                self._reading.pop(name, None)


def _stale(book: Book) -> Json:
    return {**book.made, "stale": True}


def stamp(folder: Path) -> Stamp:
    """Sizes and times of the journal's files, and whether a process is writing it."""
    parts: list[float | bool] = []
    for name in (FILE, f"{FILE}-wal"):
        try:
            status = (folder / name).stat()
            parts += [status.st_size, status.st_mtime if status.st_size else 0.0]  # readers leave an empty log behind
        except OSError:
            parts += [0.0, 0.0]
    return (*parts, holder(folder) is not None)
