"""The front of a run with several objectives: what each member reached of two of them, and the line of descent of each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, islice, pairwise

import numpy as np

from evolute.core.amounts import named
from evolute.report.figures.chart import Axis, Chart, Role, Series
from evolute.report.figures.downsample import every, stride
from evolute.runs.turns import TurnTable

PAIRS = 6
"""At most this many pairs of objectives are drawn."""
SHOWN = 500
"""At most this many points that are not on the front are drawn, the latest."""
LINE = 100
"""Points that a line of descent has at most."""


def charts(table: TurnTable) -> list[Chart]:
    """A plot for each pair of objectives; nothing in runs with one score."""
    if not table.front:
        return []
    pairs = islice(combinations(range(len(table.meta.objectives)), 2), PAIRS)
    return [_chart(table, first, second) for first, second in pairs]


def _chart(table: TurnTable, first: int, second: int) -> Chart:
    names = table.meta.objectives
    others = [row for row in table.candidates if row not in set(table.front) and not np.isnan(table.objectives[row]).any()]
    border = [_border(table)] if len(names) == 2 and len(table.front) > 1 else []
    series = [
        _points(table, others[:SHOWN], "dominated by another", "extinct", (first, second)),
        *border,
        _points(table, table.front, "on the front", "winner", (first, second)),
    ]
    two = "" if len(names) == 2 else " Objectives that are not shown may be why a point is on the front."
    return Chart(
        f"front-{first}-{second}",
        f"Front: {names[second]} against {names[first]}",
        Axis(names[first]),
        Axis(names[second]),
        [one for one in series if len(one.x)],
        f"More is better on both axes. Click a point for its line of descent.{two}",
    )


def _border(table: TurnTable) -> Series:
    """What the front dominates, as steps from one of its points to the next."""
    points = table.objectives[table.front].tolist()
    corners = [points[0], *(corner for before, after in pairwise(points) for corner in ([before[0], after[1]], after))]
    return Series("border of what the front dominates", [x for x, _ in corners], [y for _, y in corners], "border")


def _points(table: TurnTable, rows: Sequence[int], name: str, role: Role, axes: tuple[int, int]) -> Series:
    x, y = (table.objectives[rows, axis].tolist() if rows else [] for axis in axes)
    lines = [_line(table, row) for row in rows]
    return Series(
        name,
        x,
        y,
        role,
        "points",
        texts=[f"member {table.member[row]}, turn {table.turn[row]}: {named(table.hparams[row])}" for row in rows],
        members=[int(table.member[row]) for row in rows],
        lines=[(table.objectives[line, axes[0]].tolist(), table.objectives[line, axes[1]].tolist()) for line in lines],
        stories=[_story(table, row) for row in rows],
    )


def _line(table: TurnTable, row: int) -> Sequence[int]:
    line = [one for one in table.ancestry(row) if not np.isnan(table.objectives[one]).any()]
    found: list[int] = every(line, stride(len(line), LINE)).tolist()
    return found


def _story(table: TurnTable, row: int) -> str:
    """Where a state came from, in words."""
    slots = [int(table.member[one]) for one in table.ancestry(row)]
    path = [str(slot) for place, slot in enumerate(slots) if place == 0 or slots[place - 1] != slot]
    return f"{table.ref(row)}; line of descent of {len(slots)} turns, by member: {' → '.join(path)}"
