"""What a Bayesian strategy's model sampling_note against what happened, the size of its trust region, its bandits' weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.runs.turns import FRESH, Numbers, TurnTable


def predictions(table: TurnTable) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Rows with a prediction that can be judged: row, predicted gain, its uncertainty, and the gain per interval that came."""
    interval = int(table.meta.identity.get("interval") or 0)
    found = []
    for row, why in enumerate(table.why):
        parent = int(table.parent[row])
        if "gain" not in why or parent == FRESH or table.failed[row] or not np.isfinite(table.own_score[row]):
            continue
        scale = interval / max(int(table.steps[row]), 1) if interval else 1.0
        gain = (table.own_score[row] - table.score[parent]) * scale
        if np.isfinite(gain):
            found.append((row, why["gain"], why.get("uncertainty", np.nan), gain))
    columns = np.array(found, dtype=np.float64).reshape(len(found), 4).T
    return columns[0].astype(np.int64), columns[1], columns[2], columns[3]


def charts(table: TurnTable) -> list[Chart]:
    """The plots that a Bayesian strategy's journal gives; none for other strategies."""
    shown = [_predicted(table)]
    sides = [
        ("side of the box", lambda why: why["region"]["side"]),
        ("share of categories", lambda why: why["region"]["radius"]),
    ]
    parts = [_over_turns(table, "region", name, value) for name, value in sides]
    if any(len(part.x) for part in parts):
        note = "How far from its parent's values an heir may be: 1 is the whole range."
        shown.append(Chart("region", "Trust region", Axis("turn"), Axis("size (share of the range)"), parts, note))
    shown += [_weights(table, name) for name in _weighed(table)]
    return [chart for chart in shown if chart is not None]


def _predicted(table: TurnTable) -> Chart | None:
    rows, expected, uncertainty, gain = predictions(table)
    if not len(rows):
        return None
    step = stride(len(rows), 3000)
    kept = every(np.arange(len(rows)), step)
    texts = [f"member {table.member[row]}, turn {table.turn[row]}" for row in rows[kept]]
    points = Series("heirs", expected[kept].tolist(), gain[kept].tolist(), "member", "points", texts=texts)
    ends = [float(min(expected.min(), gain.min())), float(max(expected.max(), gain.max()))]
    inside = float(np.mean(np.abs(gain - expected) <= uncertainty))
    note = f"{inside:.0%} of {len(rows):,} gains lay within one deviation of the prediction; 68 % if the model were right."
    return Chart(
        "predictions",
        "The model's predictions and what happened",
        Axis("predicted gain in score per turn"),
        Axis("gain in score per turn"),
        [points, Series("as predicted", ends, ends, "winner")],
        joined(note, sampling_note(step, "heir")),
    )


def _weighed(table: TurnTable) -> list[str]:
    return sorted({name for why in table.why for name in why.get("weights", {})})


def _weights(table: TurnTable, name: str) -> Chart:
    values = list(dict.fromkeys(value for why in table.why for value in why.get("weights", {}).get(name, {})))
    getters = [lambda why, value=value: why["weights"].get(name, {}).get(value) for value in values]
    series = [_over_turns(table, "weights", value, find) for value, find in zip(values, getters, strict=True)]
    return Chart(f"weights-{name}", f"Bandit weights of {name}", Axis("turn"), Axis("weight"), series)


def _over_turns(table: TurnTable, key: str, name: str, value: Callable[[Any], float | None]) -> Series:
    """A value of each turn's heirs; those of one decision have the same."""
    by_turn = {int(table.turn[row]): value(why) for row, why in enumerate(table.why) if key in why}
    points = sorted((turn, found) for turn, found in by_turn.items() if found is not None)
    return Series(name, [turn for turn, _ in points], [found for _, found in points], kind="steps")
