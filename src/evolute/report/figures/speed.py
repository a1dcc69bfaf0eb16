"""Time and steps: environment steps, wall clock, steps per second, failures."""

from __future__ import annotations

import numpy as np

from evolute.report.figures.chart import Axis, Chart, Series
from evolute.runs.turns import Numbers, TurnTable

BUCKETS = 120
UNITS = ((3 * 86_400, 86_400, "days"), (3 * 3600, 3600, "hours"), (300, 60, "minutes"), (0, 1, "seconds"))


def totals(table: TurnTable) -> dict[str, float]:
    """What the run took in all."""
    elapsed = float(table.elapsed.max()) if len(table) else 0.0
    steps = int(table.steps.sum())
    return {
        "turns": len(table),
        "steps": steps,
        "elapsed": elapsed,
        "training": float(table.seconds.sum()),
        "speed": steps / elapsed if elapsed > 0 else 0.0,
        "failed": int(table.failed.sum()),
        "rescued": sum(why.get("event") == "rescue" for why in table.why),
        "inherited": sum(why.get("event") == "inherit" for why in table.why),
    }


def charts(table: TurnTable) -> list[Chart]:
    """Steps over time, speed over time, failures over turns."""
    order = np.argsort(table.elapsed, kind="stable")
    elapsed, steps = table.elapsed[order], np.cumsum(table.steps[order])
    unit, word = clock(float(elapsed[-1]))
    edges = np.linspace(0, float(elapsed[-1]), BUCKETS + 1)[1:]
    done = steps_until(elapsed, steps, edges)
    middles, speed = speeds(elapsed, steps)
    shown = [
        Chart(
            "steps",
            "Environment steps of the whole population",
            Axis(f"wall clock ({word})"),
            Axis("environment steps"),
            [Series("steps", (edges / unit).tolist(), done.tolist())],
        ),
        Chart(
            "speed",
            "Environment steps per second",
            Axis(f"wall clock ({word})"),
            Axis("steps per second"),
            [Series("speed", (middles / unit).tolist(), speed.tolist())],
            "Of the whole population, over stretches of equal length.",
        ),
    ]
    return [*shown, _failures(table)] if table.failed.any() else shown


def clock(seconds: float) -> tuple[int, str]:
    """The unit that suits a length of time: its seconds and its name."""
    return next((unit, word) for least, unit, word in UNITS if seconds >= least)


def steps_until(elapsed: Numbers, steps: Numbers, times: Numbers) -> Numbers:
    """The steps that were done by these times."""
    places = np.searchsorted(elapsed, times, "right")
    return np.concatenate([[0], steps])[places]


def speeds(elapsed: Numbers, steps: Numbers) -> tuple[Numbers, Numbers]:
    """Steps per second over equal stretches of the run, as many as there are reports to fill them."""
    moments = len(np.unique(elapsed))
    count = max(1, min(BUCKETS // 2, moments // 2))
    edges = np.linspace(0, float(elapsed[-1]), count + 1)
    done = steps_until(elapsed, steps, edges)
    width = max(float(edges[1] - edges[0]), 1e-9)
    return (edges[1:] + edges[:-1]) / 2, np.diff(done) / width


def _failures(table: TurnTable) -> Chart:
    turns, counts = np.unique(table.turn[table.failed], return_counts=True)
    bars = Series("failed turns", turns.tolist(), counts.tolist(), "failure", "bars")
    return Chart("failures", "Failed turns", Axis("turn"), Axis("members that failed"), [bars])
