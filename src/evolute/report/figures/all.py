"""The plots of a run, in the order in which files and pages show them. A new plot gets its line here."""

from __future__ import annotations

from evolute.report.figures import actors, cells, diversity, front, games, generations, importance, metrics, model, speed
from evolute.report.figures.chart import Chart
from evolute.report.figures.curves import by_line, by_member
from evolute.report.figures.family import tree
from evolute.report.figures.paths import paths
from evolute.runs.turns import TurnTable


def sections(table: TurnTable) -> dict[str, list[Chart]]:
    """All plots, by the heading that a page puts them under."""
    if not len(table):
        return {}
    return {
        "Front": front.charts(table),
        "Elites": cells.charts(table),
        "Learning": [by_line(table), by_member(table)],
        "Games": games.charts(table),
        "The learner's metrics": metrics.charts(table),
        "Actors": actors.charts(table),
        "Descent": [tree(table), diversity.of_descent(table)],
        "Generations": generations.charts(table),
        "Hyper-parameters": [*paths(table), *importance.charts(table), *diversity.of_hparams(table)],
        "The strategy's model": model.charts(table),
        "Time and steps": speed.charts(table),
    }


def charts(table: TurnTable) -> list[Chart]:
    """All plots, without headings."""
    return [chart for section in sections(table).values() for chart in section]
