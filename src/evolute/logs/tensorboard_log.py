"""A log for TensorBoard: a folder for each member, for the line of descent of each member at the end, and for events.

Curves of members have the steps of their slot below them, curves of lines the steps of the line, which do not jump at a
copy. The line of the best is written again every so often while the run goes on; all lines when it ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from evolute.core.lineage import used_steps
from evolute.core.population import Population, Turn, best, descent
from evolute.core.ranking import top
from evolute.logs.event_file import EventFile
from evolute.logs.log import Opening, scalars, told

EVERY = 15.0
"""Seconds between two writings of the best line."""


class TensorBoardLog:
    """`logs/tensorboard`, to be shown by `tensorboard --logdir`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._members: dict[int, EventFile] = {}
        self._used: dict[int, int] = {}
        self._latest: dict[int, Turn] = {}
        self._events = EventFile(place / "events")
        self._number = 0
        self._lines_at = time.monotonic()

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            slot = turn.ref.member
            used = used_steps(turn.order.steps, turn.report.steps, failed=turn.failed)
            self._used[slot] = self._used.get(slot, 0) + used
            if slot not in self._members:
                self._members[slot] = EventFile(self._place / f"member-{slot:04d}")
            if not turn.failed:
                self._members[slot].scalars(self._used[slot], scalars(turn))
                self._latest[slot] = turn
            if (text := told(turn)) is not None:
                self.event(text)
        for file in (*self._members.values(), self._events):
            file.flush()
        if time.monotonic() - self._lines_at > EVERY:
            leader = top((self._latest[slot] for slot in sorted(self._latest)), lambda turn: turn.score)
            if leader is not None:
                self._line("line-of-best", leader)
            self._lines_at = time.monotonic()

    def event(self, text: str) -> None:
        self._events.text(self._number, "events", text)
        self._number += 1

    def close(self, population: Population) -> None:
        for member in population.members:
            if member.latest is not None:
                self._line(f"line-{member.slot:04d}", member.latest)
        leader = best(population)
        if leader is not None:
            self._line("line-of-best", leader)
        for file in (*self._members.values(), self._events):
            file.close()

    def _line(self, name: str, last: Turn) -> None:
        file = EventFile(self._place / name)
        for turn in reversed(list(descent(last))):
            file.scalars(turn.steps, scalars(turn))
        file.close()


def open_log(opening: Opening) -> TensorBoardLog:
    return TensorBoardLog(opening.place / "tensorboard")
