"""All finished turns of a run as columns, read straight from its journal: what plots and data frames are made of.

A row is a turn; rows are in order of arrival, so the turn that another one continued is always in a row before it.
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

from evolute.core.lineage import carried_score, line_steps, used_steps
from evolute.core.order import Json, Order, Ref, last_line
from evolute.core.param import Param
from evolute.core.pareto import front_places
from evolute.core.population import Rating, archived
from evolute.core.ranking import winner
from evolute.core.request import Answer
from evolute.core.space import Space
from evolute.core.steering import Steering
from evolute.runs import folders
from evolute.store.error import StoreError
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

Numbers = np.ndarray[tuple[int], np.dtype[Any]]
Table = np.ndarray[Any, np.dtype[np.float64]]
FRESH = -1
"""The parent of a turn that began with fresh weights."""
POOLS = 200
"""About how many times the pool of past states is read."""


@dataclass(frozen=True)
class TurnTable:
    """The turns of one run as columns of equal length: [row].

    `parent` is the row whose state a turn continued. `score` is the turn's `own_score`, or its parent's score where no
    episode ended; NaN where there is none. `steps` are those that the turn did, `line_steps` those of its line of descent,
    `member_steps` what its member has used of its budget. `running` are the orders under way, by member.
    """

    folder: Path
    meta: RunMeta
    space: Space
    member: Numbers
    turn: Numbers
    parent: Numbers
    score: Numbers
    own_score: Numbers
    steps: Numbers
    line_steps: Numbers
    member_steps: Numbers
    seconds: Numbers
    elapsed: Numbers
    failed: Numbers
    why: Sequence[Mapping[str, Json]] = field(repr=False)
    hparams: Sequence[Mapping[str, Any]] = field(repr=False)
    metrics: Sequence[str] = field(repr=False)
    errors: Mapping[int, str] = field(repr=False)
    notes: Sequence[tuple[float, str, Json]] = field(repr=False, default=())
    running: Mapping[int, Order] = field(repr=False, default_factory=dict)
    deviations: Mapping[int, float] = field(repr=False, default_factory=dict)
    """How uncertain a row's rating is, in runs whose members are rated; the rating is its score."""
    matches: Sequence[tuple[int, int, str]] = field(repr=False, default=())
    """The games of turns as the journal has them, in runs whose members are rated: member, turn and JSON."""
    pools: Sequence[tuple[int, Sequence[Ref]]] = field(repr=False, default=())
    """The pool of past states at some turns, spread over the run."""
    teachers: Mapping[int, int] = field(repr=False, default_factory=dict)
    """The row of the state that taught each row that had a teacher."""
    answers: Sequence[Answer] = field(repr=False, default=())
    """The requests of those who steered the run; `space` has the bounds that are in force."""
    objectives: Table = field(repr=False, default_factory=lambda: np.zeros((0, 0)))
    """In runs with several objectives, what each row reached, carried on like scores: [row, objective]."""
    archive: Sequence[Ref] = field(repr=False, default=())
    """Older states that the strategy keeps among the best."""

    @classmethod
    def read(cls, folder: Path | str) -> TurnTable:
        """The turns of a run folder; this disturbs nobody, and works while it is written and after it crashed."""
        folder = Path(folder)
        with contextlib.closing(Journal.read(folder)) as journal, journal.snapshot():
            try:
                return _table(folder, journal.meta, journal)
            except (KeyError, IndexError, TypeError, ValueError) as error:
                raise StoreError(f"the journal of {folder} is inconsistent: {error!r}") from error

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
        all_failed = len(self.last) == self.size and all(self.failed[row] for row in self.last.values())
        return folders.status(self.folder, self.meta, all_failed=all_failed)

    @cached_property
    def latest(self) -> dict[int, int]:
        """Each member's last row that left a state."""
        finished = np.flatnonzero(~self.failed)
        return dict(zip(self.member[finished].tolist(), finished.tolist(), strict=True))

    @cached_property
    def last(self) -> dict[int, int]:
        """Each member's last row, failed ones included."""
        return dict(zip(self.member.tolist(), range(len(self)), strict=True))

    @cached_property
    def candidates(self) -> list[int]:
        """The rows that may be the best: each member's latest, and the strategy's archive."""
        latest = [row for _, row in sorted(self.latest.items())]
        places = {self.ref(row): row for row in range(len(self))} if self.archive else {}
        return list(dict.fromkeys([*latest, *(places[ref] for ref in self.archive)]))

    @cached_property
    def front(self) -> list[int]:
        """In a run with several objectives, the rows that none dominates, by the first objective."""
        if not self.objectives.size:
            return []
        rows = [row for row in self.candidates if not np.isnan(self.objectives[row]).any()]
        return [rows[place] for place in front_places([self.objectives[row].tolist() for row in rows])]

    @cached_property
    def best(self) -> int | None:
        """The row of the state that was chosen after the run, or else of the highest-scoring one."""
        chosen = self.meta.chosen
        return winner(self.candidates, lambda row: float(self.score[row]), lambda row: self.ref(row) == chosen)

    @cached_property
    def best_line(self) -> list[int]:
        """The rows of the best one's line of descent, from fresh weights on."""
        return [] if self.best is None else self.ancestry(self.best)

    def ref(self, row: int) -> Ref:
        """The state that a row left."""
        return Ref(int(self.member[row]), int(self.turn[row]))

    def order(self, row: int) -> Order:
        """The order of a row, without its seed and links besides start and teacher."""
        parent = int(self.parent[row])
        start = None if parent == FRESH else self.ref(parent)
        teacher = self.ref(self.teachers[row]) if row in self.teachers else None
        return Order(int(self.member[row]), int(self.turn[row]), self.hparams[row], start, teacher=teacher, why=self.why[row])

    def reason(self, row: int) -> str | None:
        """Why a turn failed: the last line of its error; None if it did not."""
        return last_line(self.errors[row]) if row in self.errors else None

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
    def metric_columns(self) -> dict[str, Numbers]:
        """Every metric that is a number, as learners report it for each turn: NaN where there is none."""
        found: dict[str, Numbers] = {}
        for row, text in enumerate(self.metrics):
            for name, value in json.loads(text).items() if text else ():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    if name not in found:
                        found[name] = np.full(len(self), np.nan)
                    found[name][row] = value
        return found

    @cached_property
    def founder(self) -> Numbers:
        """The row of fresh weights that each row descends from."""
        found = np.arange(len(self))
        for row, parent in enumerate(self.parent.tolist()):
            if parent != FRESH:
                found[row] = found[parent]
        return found


def _table(folder: Path, meta: RunMeta, journal: Journal) -> TurnTable:
    rows, answers = journal.turns(), journal.answers()
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * 13
    member, turn, hparams, start_member, start_turn, why, ordered, steps, metrics, error, own, seconds, elapsed = columns
    rows_of = {ref: row for row, ref in enumerate(zip(member, turn, strict=True))}
    starts = zip(start_member, start_turn, strict=True)
    parent = [FRESH if start[0] is None else rows_of[start] for start in starts]
    failed = [value is not None for value in error]
    parsed: dict[str | None, Mapping[str, Any]] = {None: {}}
    for text in {*hparams, *why} - {None}:
        parsed[text] = json.loads(text)
    running = {order.member: order for order in journal.running()}
    ratings = _ratings(member, failed, [parsed[text] for text in why], running, meta, rows_of)
    score, of_line = _along_lines(parent, failed, own, steps, {row: mean for row, (mean, _) in ratings.items()})
    return TurnTable(
        folder,
        meta,
        Steering.of(answers).space(Space.from_json(meta.space)),
        np.array(member, dtype=np.int64),
        np.array(turn, dtype=np.int64),
        np.array(parent, dtype=np.int64),
        score,
        np.array(own, dtype=np.float64),
        np.array(steps, dtype=np.int64),
        of_line,
        _along_slots(member, failed, ordered, steps),
        np.array(seconds, dtype=np.float64),
        np.array(elapsed, dtype=np.float64),
        np.array(failed, dtype=np.bool_),
        [parsed[text] for text in why],
        [parsed[text] for text in hparams],
        metrics,
        {row: text for row, text in enumerate(error) if text is not None},
        journal.notes(),
        running,
        {row: deviation for row, (_, deviation) in ratings.items()},
        journal.matches() if ratings else (),
        [(turn, [Ref(*pair) for pair in json.loads(pool)]) for turn, pool in journal.pools(POOLS)] if ratings else (),
        {rows_of[taught[:2]]: rows_of[taught[2:]] for taught in journal.teachers()},
        answers,
        _objectives(journal, meta, parent, failed),
        archived(journal.strategy_state()),
    )


def _objectives(journal: Journal, meta: RunMeta, parent: Sequence[int], failed: Sequence[bool]) -> Table:
    """What each turn reached of each objective, or the state that it continued if no episode ended: [row, objective]."""
    if not meta.objectives:
        return np.zeros((0, 0))
    nothing = [np.nan] * len(meta.objectives)
    found: list[list[float]] = []
    for row, (text,) in enumerate(journal.objectives()):
        carried = nothing if parent[row] == FRESH or failed[row] else found[parent[row]]
        found.append(json.loads(text) if text else carried)
    return np.array(found, dtype=np.float64).reshape(-1, len(nothing))


def _ratings(
    member: Sequence[int],
    failed: Sequence[bool],
    why: Sequence[Mapping[str, Json]],
    running: Mapping[int, Order],
    meta: RunMeta,
    rows_of: Mapping[tuple[int, int], int],
) -> dict[int, Rating]:
    """The ratings of rows, which stand in the reasons of their member's next order, or at the end of the run."""
    ratings: dict[int, Rating] = {}
    last: dict[int, int] = {}
    for row, slot in enumerate(member):
        if "rating" in why[row] and slot in last and not failed[last[slot]]:
            ratings[last[slot]] = why[row]["rating"]
        last[slot] = row
    for slot, order in running.items():
        if "rating" in order.why and slot in last and not failed[last[slot]]:
            ratings[last[slot]] = order.why["rating"]
    for slot, turn, *rating in meta.ratings:
        if rows_of.get((slot, turn)) == last.get(slot):
            ratings[last[slot]] = rating
    return ratings


def _along_lines(
    parent: Sequence[int],
    failed: Sequence[bool],
    own: Sequence[float | None],
    steps: Sequence[int],
    ratings: Mapping[int, float],
) -> tuple[Numbers, Numbers]:
    """What each turn takes over from the one it continued: scores that carry on, and steps that add up."""
    scores: list[float | None] = []
    totals: list[int] = []
    for row, before in enumerate(parent):
        score, total = (None, None) if before == FRESH else (scores[before], totals[before])
        scores.append(ratings.get(row, carried_score(own[row], failed=failed[row], parent=score)))
        totals.append(line_steps(steps[row], total))
    return np.array(scores, dtype=np.float64), np.array(totals, dtype=np.int64)


def _along_slots(member: Sequence[int], failed: Sequence[bool], ordered: Sequence[int], done: Sequence[int]) -> Numbers:
    """The steps that each member has used up to each of its turns."""
    totals: dict[int, int] = {}
    used: list[int] = []
    for slot, asked, steps, bad in zip(member, ordered, done, failed, strict=True):
        totals[slot] = totals.get(slot, 0) + used_steps(asked, steps, failed=bad)
        used.append(totals[slot])
    return np.array(used, dtype=np.int64)


def _unit(param: Param, value: Any) -> float:
    try:
        return param.encode(value)
    except (TypeError, ValueError):
        return float("nan")
