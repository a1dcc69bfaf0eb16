"""How sampling went in turns with actors, or where nobody waits for anybody, also where it never changed."""

from __future__ import annotations

import numpy as np

from evolute.report.figures.chart import BUDGET, Axis, Chart
from evolute.report.figures.curves import line_series
from evolute.report.figures.downsample import joined
from evolute.runs.turns import TurnTable

SAMPLES = "samples_per_second"
TITLES = {
    SAMPLES: ("Samples per second", "Steps of a member that were sampled in a second."),
    "queue": ("Queue", "Fragments that waited for an update, on average."),
    "lag": ("Lag", "Updates between acting and learning, on average."),
    "lag_max": ("Largest lag", "Updates between acting and learning, at most."),
    "dropped": ("Dropped", "Fragments of a turn that were too old, or found no room."),
    "idle": ("Idle", "Share of time in which the learner waited."),
    "restarts": ("Restarts", "Actors that were replaced in a turn."),
}
"""What each metric is called, and what it says."""
BUDGET_OF_EACH = BUDGET // 6
"""Points that a picture may have."""


def names(table: TurnTable) -> list[str]:
    """The metrics that tell of sampling; none where nobody counts samples, as other metrics may have these names."""
    columns = table.metric_columns
    return [name for name in TITLES if name in columns and np.isfinite(columns[name]).any()] if SAMPLES in columns else []


def charts(table: TurnTable) -> list[Chart]:
    """One picture for each of them, along lines of descent."""
    return [_chart(table, name) for name in names(table)]


def _chart(table: TurnTable, name: str) -> Chart:
    series, note = line_series(table, table.metric_columns[name], BUDGET_OF_EACH)
    title, meaning = TITLES[name]
    return Chart(f"metric-{name}", title, Axis("environment steps along the line"), Axis(name), series, joined(meaning, note))
