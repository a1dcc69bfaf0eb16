"""What improved whom: one row per finished turn, with the gain it brought from where, when and under which values.

Context is the score before the turn, which after a clone is the parent's. Time counts the turns of the line of descent.
Fresh weights have no score before; the lowest first score replaces it, as what little training brings. A failed turn
counts as the lowest gain seen, so that its surroundings are avoided.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile

import numpy as np

from evolute.core.order import Hparams
from evolute.core.param import Param
from evolute.core.population import Member, Population, Turn
from evolute.strategies.bayes.points import Array, Layout, Points

FAR = 100.0
"""How far outside the known scores a score may lie, in widths of their range; farther away it would teach nothing."""


@dataclass(frozen=True)
class Rows:
    """The newest turns in order of time: hyper-parameters, time [row], score before [row] and gain per turn [row]."""

    hparams: tuple[Hparams, ...]
    time: Array
    before: Array
    gain: Array

    def __len__(self) -> int:
        return len(self.hparams)

    def where(self, chosen: Sequence[bool]) -> Rows:
        """The chosen rows."""
        mask = np.array(chosen, dtype=np.bool_)
        hparams = tuple(one for one, kept in zip(self.hparams, chosen, strict=True) if kept)
        return Rows(hparams, self.time[mask], self.before[mask], self.gain[mask])

    def points(self, layout: Layout) -> Points:
        """The rows as a Gaussian process sees them, the score before as the first number."""
        encoded = [layout.encode(hparams) for hparams in self.hparams]
        numbers = np.array([numbers for numbers, _ in encoded]).reshape(len(self), len(layout.numbers))
        places = np.array([places for _, places in encoded], dtype=np.int64).reshape(len(self), len(layout.categories))
        return Points(np.column_stack([self.context(self.before), numbers]), places, self.time)

    def context(self, score: Array | float) -> Array:
        """A score on the scale on which the scores before these rows run from 0 to 1."""
        low, high = float(self.before.min()) / 2, float(self.before.max()) / 2  # halves, so that a difference cannot overflow
        if high <= low:
            return np.zeros_like(score, dtype=np.float64)
        with np.errstate(over="ignore"):
            return np.clip((np.asarray(score, dtype=np.float64) / 2 - low) / (high - low), -FAR, FAR)


def newest_rows(
    population: Population,
    *,
    interval: int,
    limit: int,
    since: Sequence[int] | None = None,
    inside: Mapping[str, Param] | None = None,
) -> Rows:
    """The last `limit` informative turns of all members, with gains per `interval` steps; `since` is a turn for each slot.

    Turns with values that are not `inside` a space, whose bounds have changed since, are left out.
    """
    space = inside or {}
    first = [0] * len(population) if since is None else since
    histories = [_since(member, turn) for member, turn in zip(population.members, first, strict=True)]
    merged = heapq.merge(*histories, key=lambda turn: -turn.order.turn)
    turns = list(islice((turn for turn in merged if _informative(turn) and _inside(turn, space)), limit))[::-1]
    fresh = [turn.score for turn in turns if turn.parent is None and _finite(turn.score)]
    lowest = min((score for score in fresh if score is not None), default=math.nan)
    rows = [row for turn in turns if (row := _row(turn, lowest, interval)) is not None]
    return _with_failures(rows)


def age(turn: Turn | None, interval: int) -> float:
    """How many turns long a state's line of descent is."""
    return 0.0 if turn is None else turn.steps / interval


def gain_of(turn: Turn, interval: int) -> float | None:
    """The gain of a turn per `interval` steps over the state it continued; None if there is nothing to compare."""
    if turn.parent is None or turn.parent.score is None or not _informative(turn) or turn.failed or turn.score is None:
        return None
    return (turn.score - turn.parent.score) * interval / max(turn.report.steps, 1)


_Row = tuple[Hparams, float, float, float]


def _since(member: Member, first: int) -> Iterator[Turn]:
    """A slot's turns from this one on, newest first."""
    return takewhile(lambda turn: turn.order.turn >= first, member.history())


def _informative(turn: Turn) -> bool:
    """Whether it says something about its hyper-parameters: not if no episode ended."""
    return turn.failed or _finite(turn.report.metrics.get("score"))


def _inside(turn: Turn, space: Mapping[str, Param]) -> bool:
    hparams = turn.order.hparams
    return all(param.contains(hparams[name]) for name, param in space.items() if name in hparams)


def _finite(score: float | None) -> bool:
    return score is not None and math.isfinite(score)


def _row(turn: Turn, lowest: float, interval: int) -> _Row | None:
    before = lowest if turn.parent is None else turn.parent.score
    if before is None or not math.isfinite(before):
        return None
    gain = math.nan if turn.failed or turn.score is None else (turn.score - before) * interval / max(turn.report.steps, 1)
    return turn.order.hparams, age(turn.parent, interval), before, gain


def _with_failures(rows: list[_Row]) -> Rows:
    """The rows with the lowest gain in place of failed turns; nothing if all have failed."""
    gains = np.array([row[3] for row in rows])
    if np.isfinite(gains).any():
        gains = np.where(np.isfinite(gains), gains, np.nanmin(np.where(np.isfinite(gains), gains, np.nan)))
    else:
        rows, gains = [], np.zeros(0)
    columns = [np.array(column, dtype=np.float64) for column in _columns(rows)]
    return Rows(tuple(row[0] for row in rows), columns[0], columns[1], gains)


def _columns(rows: list[_Row]) -> Iterator[list[float]]:
    yield [row[1] for row in rows]
    yield [row[2] for row in rows]
