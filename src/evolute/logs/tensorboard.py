"""The log sink `tensorboard`: a folder for each member, for the lineage of each member at the end, and for events.

A member's curves are over the steps of its slot, those of a lineage over the steps along it, which do not jump at a copy.
The lineage of the best is rewritten now and then while the run trains, all lineages when it ends.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from evolute.core.lineage import used_steps
from evolute.core.population import Population, Turn, best, descent
from evolute.core.ranking import top
from evolute.logs.event_file import EventFile
from evolute.logs.sink import LoggedRun
from evolute.logs.values import event_text, scalars

EVERY = 15.0
"""Seconds between two writings of the best lineage."""


def tensorboard(run: LoggedRun) -> TensorBoardLog:
    """Event files in `logs/tensorboard` of the run's folder, for `tensorboard --logdir`; needs no other library."""
    return TensorBoardLog(run.log_folder / "tensorboard")


class TensorBoardLog:
    """Event files by member, by lineage, and one for events."""

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
            if (text := event_text(turn)) is not None:
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
        winner = best(population)
        if winner is not None:
            self._line("line-of-best", winner)
        for file in (*self._members.values(), self._events):
            file.close()

    def _line(self, name: str, last: Turn) -> None:
        file = EventFile(self._place / name)
        for turn in reversed(list(descent(last))):
            file.scalars(turn.steps, scalars(turn))
        file.close()
