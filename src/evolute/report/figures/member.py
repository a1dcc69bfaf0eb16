"""The pictures of one member: its score, its learner's metrics and its hyper-parameters, along its line of descent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from evolute.report.figures import actors, metrics
from evolute.report.figures.chart import Axis, Chart, Kind, Series
from evolute.report.figures.curves import score_label
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.report.figures.paths import categories, logarithmic, places
from evolute.runs.turns import Numbers, TurnTable

STEPS = Axis("environment steps along the line")


def charts(table: TurnTable, slot: int, points: int) -> list[Chart]:
    """A member's pictures with so many points each; none if it has no state."""
    row = table.latest.get(slot)
    if row is None:
        return []
    whole = table.ancestry(row)
    step = stride(len(whole), points)
    line, note = every(whole, step), sampling_note(step)
    moved = np.array([place for before, place in pairwise(whole) if table.member[before] != table.member[place]])
    taken = _series(table, table.score, moved.astype(np.int64), "weights taken over", "takeover", "points")
    text = joined("From fresh weights to this member's state.", note)
    named = [
        (f"metric-{name}", metrics.title_of(name), Axis(name), table.metric_columns[name])
        for name in [*metrics.drawn(table), *actors.names(table)]
    ]
    named += [
        (
            f"hparam-{name}",
            f"Hyper-parameter {name}",
            Axis(name, log=logarithmic(param), categories=categories(param)),
            places(table, name),
        )
        for name, param in table.space.items()
    ]
    score = [_series(table, table.score, line, f"line of member {slot}", "winner"), *([taken] if len(taken.x) else [])]
    return [
        Chart("curve", "Score along its line of descent", STEPS, Axis(score_label(table)), score, text),
        *(_chart(table, line, key, title, axis, values, note) for key, title, axis, values in named),
    ]


def _chart(table: TurnTable, line: Numbers, key: str, title: str, axis: Axis, values: Numbers, note: str) -> Chart:
    kind: Kind = "steps" if key.startswith("hparam-") else "line"
    return Chart(key, title, STEPS, axis, [_series(table, values, line, title, "winner", kind)], note)


def _series(table: TurnTable, values: Numbers, rows: Numbers, name: str, role: str, kind: Kind = "line") -> Series:
    rows = rows[~np.isnan(values[rows])] if len(rows) else rows
    texts: Sequence[str] = [f"member {table.member[row]}, turn {table.turn[row]}" for row in rows]
    return Series(name, table.line_steps[rows].tolist(), values[rows].tolist(), role, kind, texts=texts)  # type: ignore[arg-type]
