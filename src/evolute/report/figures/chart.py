"""A plot as plain data: axes with units and series of points. Drawn by matplotlib or in a browser, the same either way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["winner", "member", "living", "extinct", "takeover", "teacher", "border", "failure", "plain"]
"""What a series shows, which gives it its colour and weight; plain ones take colours in turn."""
Kind = Literal["line", "steps", "points", "bars", "links", "cells"]
"""How a series is drawn; links are pairs of points, each joined by itself; cells are the fields of a heat map."""
BUDGET = 60_000
"""How many points a plot may have before it is thinned."""


@dataclass(frozen=True)
class Axis:
    """What an axis shows, with its unit; `categories` are the names of the places 0, 1, 2, … where values are no numbers."""

    label: str
    log: bool = False
    categories: Sequence[str] = ()


@dataclass(frozen=True)
class Series:
    """Points that belong together; `spread` is how far each may be off, `texts` say more about each.

    Cells have `values` from -1 to 1, which are their colours, and `labels`, which stand in them where there is room.
    A page draws a point's `lines`, its x and y values, when it is clicked, with its `stories` and a link to its member's page.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    role: Role = "plain"
    kind: Kind = "line"
    spread: Sequence[float] = ()
    texts: Sequence[str] = ()
    values: Sequence[float] = ()
    labels: Sequence[str] = ()
    members: Sequence[int] = ()
    lines: Sequence[tuple[Sequence[float], Sequence[float]]] = ()
    stories: Sequence[str] = ()


@dataclass(frozen=True)
class Chart:
    """One plot. `key` names it in files and pages, `note` says how to read it and what was left out."""

    key: str
    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    note: str = ""
    hparams: Sequence[str] = field(default=())


def to_json(chart: Chart) -> dict[str, Any]:
    """The plot for a browser: numbers to six digits, what is not finite as null."""
    return {
        "key": chart.key,
        "title": chart.title,
        "x": vars(chart.x),
        "y": vars(chart.y),
        "note": chart.note,
        "series": [
            {
                "name": series.name,
                "role": series.role,
                "kind": series.kind,
                "x": [short(value) for value in series.x],
                "y": [short(value) for value in series.y],
                **({"spread": [short(value) for value in series.spread]} if len(series.spread) else {}),
                **({"values": [short(value) for value in series.values]} if len(series.values) else {}),
                **({"labels": list(series.labels)} if len(series.labels) else {}),
                **({"texts": list(series.texts)} if len(series.texts) else {}),
                **({"members": list(series.members)} if len(series.members) else {}),
                **(
                    {"lines": [[list(map(short, ends)) for ends in line] for line in series.lines]} if len(series.lines) else {}
                ),
                **({"stories": list(series.stories)} if len(series.stories) else {}),
            }
            for series in chart.series
        ],
    }


def short(value: float) -> float | int | None:
    """A number as JSON has it, to six digits."""
    if not math.isfinite(value):
        return None
    rounded = float(f"{value:.6g}")
    return int(rounded) if rounded == int(rounded) else rounded
