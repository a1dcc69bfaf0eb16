"""The pictures of a run, in the order in which a page shows them."""

from __future__ import annotations

from evolute.report.figures import diversity, importance, metrics, model, speed
from evolute.report.figures.chart import Chart
from evolute.report.figures.curves import by_line, by_member
from evolute.report.figures.family import tree
from evolute.report.figures.paths import paths
from evolute.runs.turns import TurnTable


def charts(table: TurnTable) -> list[Chart]:
    """Curves, the learner's metrics, family, hyper-parameters, importance, diversity, the strategy's model, time and steps."""
    if not len(table):
        return []
    mattered = importance.chart(table)
    return [
        by_line(table),
        by_member(table),
        *metrics.charts(table),
        tree(table),
        *paths(table),
        *([] if mattered is None else [mattered]),
        *diversity.charts(table),
        *model.charts(table),
        *speed.charts(table),
    ]
