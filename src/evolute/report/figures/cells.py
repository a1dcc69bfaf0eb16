"""The elites of MAP-Elites: a heat map of the cells that have a state, and of how good each is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evolute.core.amounts import named
from evolute.core.order import Json
from evolute.core.ranking import better
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.formats import number
from evolute.runs.turns import TurnTable

Cell = tuple[int, int]


class Metric(NamedTuple):
    """A metric whose range is cut into parts."""

    name: str
    low: float
    high: float
    parts: int

    @property
    def begins(self) -> list[str]:
        """Where each part begins."""
        return [number(self.low + (self.high - self.low) * part / self.parts) for part in range(self.parts)]

    def part(self, value: float) -> int:
        """The part that a value is in."""
        return min(max(int((value - self.low) / (self.high - self.low) * self.parts), 0), self.parts - 1)


ALL = Metric("", 0.0, 1.0, 1)
"""What stands for a second metric where there is none."""


def charts(table: TurnTable) -> list[Chart]:
    """The cells of the first two metrics; nothing in runs of other strategies."""
    strategy: Json = table.meta.identity.get("strategy") or ("", {})
    cells = strategy[1].get("cells") if strategy[0] == "map_elites" else None
    if not cells or not cells.keys() <= table.metric_columns.keys():
        return []
    grid = [Metric(name, low, high, int(parts)) for name, (low, high, parts) in cells.items()]
    across, up = [*grid, ALL][:2]
    elites = _elites(table, across, up)
    if not elites:
        return []
    more = "" if len(grid) <= 2 else f" Each is the best along the others: {', '.join(one.name for one in grid[2:])}."
    note = f"{len(elites)} of {across.parts * up.parts} cells have a state; the darker, the higher its score.{more}"
    x, y = Axis(across.name, categories=across.begins), Axis(up.name, categories=up.begins if up is not ALL else [""])
    return [Chart("cells", "Best of each kind", x, y, [_series(table, elites)], note)]


def _elites(table: TurnTable, across: Metric, up: Metric) -> dict[Cell, int]:
    """The row with the highest score of each cell."""
    elites: dict[Cell, int] = {}
    for row in table.candidates:
        values = [0.0 if one is ALL else float(table.metric_columns[one.name][row]) for one in (across, up)]
        if np.isnan([*values, table.score[row]]).any():
            continue
        cell = (across.part(values[0]), up.part(values[1]))
        if cell not in elites or better(float(table.score[row]), float(table.score[elites[cell]])):
            elites[cell] = row
    return elites


def _series(table: TurnTable, elites: dict[Cell, int]) -> Series:
    scores = table.score[list(elites.values())]
    low, width = float(scores.min()), float(np.ptp(scores)) or 1.0
    return Series(
        "elites",
        [cell[0] for cell in elites],
        [cell[1] for cell in elites],
        kind="cells",
        values=[0.1 + 0.9 * (float(score) - low) / width for score in scores],
        labels=[number(float(f"{score:.2g}")) for score in scores],
        texts=[
            f"member {table.member[row]} after turn {table.turn[row]}: score {number(float(table.score[row]))}, "
            f"{named(table.hparams[row])}"
            for row in elites.values()
        ],
    )
