"""Plots as PNG or SVG files, drawn by matplotlib from the same data as the pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evolute.config.error import ConfigError
from evolute.report.figures.chart import Chart, Series
from evolute.store.error import StoreError

try:
    from matplotlib import rc_context, rcParams
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
    from matplotlib.ticker import FuncFormatter, LogFormatter
except ImportError as error:
    raise ConfigError("plots need matplotlib: pip install 'evolute[plot]'") from error

CYCLE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8a7a00", "#7f7f7f"]
"""Okabe and Ito's colours, which people with colour-blindness can tell apart."""
LIGHT = {"winner": "#c24e00", "member": "#0072b2", "living": "#0072b2", "extinct": "#b9bec6", "takeover": "#009e73"}
LIGHT |= {"teacher": "#a0508c", "border": "#6b7280"}
DARK = {"winner": "#ff9142", "member": "#6fb7e6", "living": "#6fb7e6", "extinct": "#5c6572", "takeover": "#2fd3a3"}
DARK |= {"teacher": "#e29ccb", "border": "#9aa4b2"}
WIDTHS = {"winner": 2.2, "member": 0.8, "living": 0.9, "extinct": 0.7, "takeover": 0.7, "teacher": 0.7, "border": 0.9}
ORDER = {"border": 0, "extinct": 1, "member": 2, "living": 3, "plain": 3, "takeover": 4, "teacher": 4, "winner": 5}
ORDER |= {"failure": 6}
LEGEND = {"member": "each member", "living": "has living descendants", "extinct": "died out"}
FAINT = 0.06
"""How opaque a cell of value 0 is."""
BAND = 0.2
"""How opaque the interval of the winner's line is; other lines have none, since they lie too close."""
STRONG = 0.6
"""From this value on a cell is so dark, or on a dark page so light, that its label has the colour of the page."""
LABELLED = 150
"""A heat map with more cells has no text in them."""
NAMED = 40
"""At most this many names stand below each other at an axis."""
LETTERS = 70
"""There is room for this many letters side by side below a chart."""
DAY = {"grid.color": "#e4e7ec"}
NIGHT = {
    "axes.facecolor": "#1a1f27",
    "figure.facecolor": "#14181e",
    "grid.color": "#2c333d",
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), "#e6e9ee"),
    "legend.facecolor": "#1a1f27",
}
SAFE = {"text.parse_math": False, "svg.hashsalt": "evolute"}
"""Names of runs and parameters are text, whatever is in them; and equal plots are equal files."""


def write(charts: Sequence[Chart], title: str, path: Path, *, dark: bool = False) -> None:
    """All charts as one figure, in the format that the file's name says."""
    style: dict[Any, Any] = {**SAFE, **(NIGHT if dark else DAY)}
    with rc_context(style):
        figure = drawn(charts, title, dark=dark)
        try:
            figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from error


def drawn(charts: Sequence[Chart], title: str, *, dark: bool = False) -> Figure:
    """The charts in a grid of at most three columns."""
    columns = min(3, max(1, len(charts)))
    rows = max(1, math.ceil(len(charts) / columns))
    figure = Figure(figsize=(7 * columns, 4.4 * rows), layout="constrained")
    figure.suptitle(title)
    for place, chart in enumerate(charts):
        axes = figure.add_subplot(rows, columns, place + 1)
        draw(axes, chart, dark=dark)
    return figure


def draw(axes: Axes, chart: Chart, *, dark: bool = False) -> None:
    """One chart."""
    axes.set_title(chart.title, fontsize=11)
    axes.set_xlabel(chart.x.label)
    axes.set_ylabel(chart.y.label)
    if not _is_heat_map(chart):
        axes.grid(visible=True, linewidth=0.6)
    axes.set_axisbelow(True)
    roles = DARK if dark else LIGHT
    cycle = [roles["member"], *CYCLE[1:]]
    colours = iter(cycle * (len(chart.series) // len(cycle) + 1))
    crowd = sum(series.role in ("member", "living") for series in chart.series)
    used = []
    for series in chart.series:
        colour = ("white" if dark else "black") if series.role == "failure" else roles.get(series.role) or next(colours)
        used.append(colour)
        faint = series.role in ("member", "living") and series.kind != "points"
        style = {
            "color": colour,
            "linewidth": WIDTHS.get(series.role, 1.5),
            "alpha": max(0.25, min(1.0, 12 / crowd)) if faint and crowd else 1.0,
            "zorder": ORDER[series.role],
        }
        if series.kind == "cells":
            _cells(axes, series, roles)
        else:
            _series(axes, series, style)
    _axes(axes, chart)
    _legend(axes, chart, used)


def _axes(axes: Axes, chart: Chart) -> None:
    """Scales and what stands at them."""
    if chart.y.log:
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(_BetweenPowers())
    for axis, categories in ((axes.xaxis, chart.x.categories), (axes.yaxis, chart.y.categories)):
        if not categories:
            axis.set_major_formatter(FuncFormatter(lambda value, place: tick(value)))
    if chart.y.categories:
        axes.set_yticks(*_named(chart.y.categories, len(chart.y.categories) / NAMED))
    if chart.x.categories:
        upright = sum(len(name) + 2 for name in chart.x.categories) / LETTERS
        axes.set_xticks(*_named(chart.x.categories, upright if _is_heat_map(chart) else len(chart.x.categories) / NAMED))
        if not _is_heat_map(chart):
            axes.tick_params(axis="x", labelrotation=25)
            for label in axes.get_xticklabels():
                label.set_horizontalalignment("right")
    if _is_heat_map(chart):
        axes.set_xlim(-0.5, len(chart.x.categories) - 0.5)
        axes.set_ylim(-0.5, len(chart.y.categories) - 0.5)
    else:
        axes.autoscale_view()


def _series(axes: Axes, series: Series, style: dict[str, Any]) -> None:
    match series.kind:
        case "links":
            points = list(zip(series.x, series.y, strict=True))
            axes.add_collection(LineCollection(list(zip(points[::2], points[1::2], strict=True)), **_plural(style)))
        case "points":
            marker = "x" if series.role == "failure" else "o"
            if len(series.spread):
                axes.errorbar(series.x, series.y, yerr=series.spread, fmt="none", ecolor=style["color"], alpha=0.6)
            axes.scatter(series.x, series.y, s=18, marker=marker, color=style["color"], zorder=style["zorder"])
        case "bars":
            axes.bar(series.x, series.y, color=style["color"], width=0.7)
        case "steps":
            axes.plot(series.x, series.y, drawstyle="steps-post", **style)
        case "line":
            if len(series.spread) and series.role == "winner":
                low, high = ([y + sign * off for y, off in zip(series.y, series.spread, strict=True)] for sign in (-1, 1))
                axes.fill_between(series.x, low, high, color=style["color"], alpha=BAND, linewidth=0, zorder=0)
            axes.plot(series.x, series.y, marker="o" if len(series.x) == 1 else None, markersize=3, **style)


def _cells(axes: Axes, series: Series, roles: Mapping[str, str]) -> None:
    """A heat map: what is above 0 in the members' colour, what is below in the winner's, the farther from 0 the stronger."""
    for x, y, value in zip(series.x, series.y, series.values, strict=True):
        colour = roles["member"] if value >= 0 else roles["winner"]
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=colour, alpha=FAINT + (1 - FAINT) * abs(value), linewidth=0))
    if len(series.x) <= LABELLED:
        page, ink = rcParams["axes.facecolor"], rcParams["text.color"]
        for x, y, label, value in zip(series.x, series.y, series.labels, series.values, strict=False):
            axes.text(x, y, label, ha="center", va="center", fontsize=8, color=page if abs(value) > STRONG else ink)


def _is_heat_map(chart: Chart) -> bool:
    return any(series.kind == "cells" for series in chart.series)


class _BetweenPowers(LogFormatter):
    """The numbers between powers of ten where Matplotlib shows some, in plain text."""

    def __call__(self, value: float, place: int | None = None) -> str:
        return tick(value) if super().__call__(value, place) else ""


def _named(categories: Sequence[str], crowding: float) -> tuple[list[int], list[str]]:
    """The places and names of all categories, or of some if they are as many times as many as there is room for."""
    places = list(range(0, len(categories), max(1, math.ceil(crowding))))
    return places, [_cut(categories[place]) for place in places]


def _plural(style: dict[str, Any]) -> dict[str, Any]:
    return {"colors": style["color"], "linewidths": style["linewidth"], "alpha": style["alpha"], "zorder": style["zorder"]}


def _legend(axes: Axes, chart: Chart, colours: Sequence[str]) -> None:
    """One entry for each role, and each plain series by its name."""
    if len(chart.series) < 2:
        return
    entries: dict[str, Line2D] = {}
    for series, colour in zip(chart.series, colours, strict=True):
        common = LEGEND.get(series.role) if series.kind in ("line", "steps") else None
        name = _cut(common or series.name.partition(" (member")[0])
        shape = {"marker": "x", "linestyle": ""} if series.role == "failure" else {"linewidth": 2}
        entries.setdefault(name, Line2D([], [], color=colour, **shape))
    axes.legend(list(entries.values()), list(entries), fontsize=8, framealpha=0.6)


def tick(value: float) -> str:
    """A number at an axis: 1500000 as 1.5M, 0.00001 as 1e-05."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == 'k' else size):.4g}{letter}"
    return f"{value:.6g}"


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
