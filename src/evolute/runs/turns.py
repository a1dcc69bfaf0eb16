"""All finished turns of a run as columns, read straight from its journal: what pictures and data frames are made of.

A row is a turn; rows stand in order of arrival, so that the state a turn continued stands in a row before it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evolute.core.order import Json
from evolute.core.param import Param
from evolute.core.space import Space
from evolute.runs import folders
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

Numbers = np.ndarray[tuple[int], np.dtype[Any]]
FRESH = -1
"""The parent of a turn that began with fresh weights."""


@dataclass(frozen=True)
class TurnTable:
    """The turns of one run as columns of equal length: [row].

    `parent` is the row whose state a turn continued. `score` is the turn's, or its parent's where no episode ended; NaN
    where there is none. `steps` are the turn's own, `line` those of its line of descent, `used` those of its slot.
    """

    folder: Path
    meta: RunMeta
    space: Space
    member: Numbers
    turn: Numbers
    parent: Numbers
    score: Numbers
    told: Numbers
    steps: Numbers
    line: Numbers
    used: Numbers
    seconds: Numbers
    elapsed: Numbers
    failed: Numbers
    why: Sequence[Mapping[str, Json]] = field(repr=False)
    hparams: Sequence[Mapping[str, Any]] = field(repr=False)
    metrics: Sequence[str] = field(repr=False)
    errors: Mapping[int, str] = field(repr=False)
    notes: Sequence[tuple[float, str, Json]] = field(repr=False, default=())

    @classmethod
    def read(cls, folder: Path | str) -> TurnTable:
        """The turns of a run folder; this disturbs nobody, and works while it is written and after it crashed."""
        folder = Path(folder)
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            try:
                return _table(folder, journal.meta, journal.turns(), journal.notes())
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise StoreError(f"the journal of {folder} does not fit together: {error!r}") from error

    def __len__(self) -> int:
        return len(self.member)

    @property
    def size(self) -> int:
        """How many members there are."""
        return self.meta.population

    @property
    def name(self) -> str:
        return self.folder.resolve().name

    @property
    def status(self) -> str:
        return folders.status(self.folder, self.meta)

    @cached_property
    def latest(self) -> dict[int, int]:
        """Each member's last row that left a state."""
        well = np.flatnonzero(~self.failed)
        return dict(zip(self.member[well].tolist(), well.tolist(), strict=True))

    @cached_property
    def best(self) -> int | None:
        """The row of the highest-scoring latest state; ties go to the lower slot."""
        scored = [(self.score[row], -slot, row) for slot, row in self.latest.items() if not np.isnan(self.score[row])]
        return max(scored)[2] if scored else None

    @cached_property
    def winners(self) -> list[int]:
        """The rows of the best one's line of descent, from fresh weights on."""
        return [] if self.best is None else self.ancestry(self.best)

    def ancestry(self, row: int) -> list[int]:
        """The rows of a line of descent, from fresh weights to this row."""
        line = []
        while row != FRESH:
            line.append(row)
            row = int(self.parent[row])
        return line[::-1]

    @cached_property
    def units(self) -> dict[str, Numbers]:
        """The place of every value in [0, 1] of its parameter's scale: NaN where it is not in the space."""
        kinds = {id(values): values for values in self.hparams}  # most turns keep their hyper-parameters
        places = {key: place for place, key in enumerate(kinds)}
        codes = np.array([places[id(values)] for values in self.hparams], dtype=np.int64)
        return {
            name: np.array([_unit(param, values.get(name)) for values in kinds.values()], dtype=np.float64)[codes]
            for name, param in self.space.items()
        }

    @cached_property
    def founder(self) -> Numbers:
        """The row of fresh weights that each row descends from."""
        found = np.arange(len(self))
        for row, parent in enumerate(self.parent.tolist()):
            if parent != FRESH:
                found[row] = found[parent]
        return found


def _table(folder: Path, meta: RunMeta, rows: list[tuple[Any, ...]], notes: Any) -> TurnTable:
    columns = list(zip(*rows, strict=True)) if rows else [()] * 12
    member, turn, hparams, start_member, start_turn, why, steps, metrics, error, told, seconds, elapsed = columns
    rows_of = {ref: row for row, ref in enumerate(zip(member, turn, strict=True))}
    starts = zip(start_member, start_turn, strict=True)
    parent = [FRESH if start[0] is None else rows_of[start] for start in starts]
    score, line, used = _followed(member, parent, [value is not None for value in error], told, steps)
    parsed: dict[str | None, Mapping[str, Any]] = {None: {}}
    for text in {*hparams, *why} - {None}:
        parsed[text] = json.loads(text)
    return TurnTable(
        folder,
        meta,
        Space.from_json(meta.space),
        np.array(member, dtype=np.int64),
        np.array(turn, dtype=np.int64),
        np.array(parent, dtype=np.int64),
        score,
        np.array(told, dtype=np.float64),
        np.array(steps, dtype=np.int64),
        line,
        used,
        np.array(seconds, dtype=np.float64),
        np.array(elapsed, dtype=np.float64),
        np.array([value is not None for value in error], dtype=np.bool_),
        [parsed[text] for text in why],
        [parsed[text] for text in hparams],
        metrics,
        {row: text for row, text in enumerate(error) if text is not None},
        notes,
    )


def _followed(
    member: Sequence[int], parent: Sequence[int], failed: Sequence[bool], told: Sequence[float | None], steps: Sequence[int]
) -> tuple[Numbers, Numbers, Numbers]:
    """What runs along lines of descent and slots: scores that carry on, and steps that add up."""
    score: list[float] = []
    line: list[int] = []
    used: list[int] = []
    slots: dict[int, int] = {}
    for row, before in enumerate(parent):
        mine = told[row]
        carried = np.nan if before == FRESH or failed[row] else score[before]
        score.append(carried if mine is None else mine)
        line.append(steps[row] + (0 if before == FRESH else line[before]))
        slots[member[row]] = slots.get(member[row], 0) + steps[row]
        used.append(slots[member[row]])
    return np.array(score, dtype=np.float64), np.array(line, dtype=np.int64), np.array(used, dtype=np.int64)


def _unit(param: Param, value: Any) -> float:
    try:
        return param.encode(value)
    except (TypeError, ValueError):
        return float("nan")
