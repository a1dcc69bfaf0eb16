"""Each hyper-parameter's path through the population, with the winner's schedule in front."""

from __future__ import annotations

from typing import Any

import numpy as np

from evolute.core.param import Choice, Float, Int, Ordinal, Param
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.figures.curves import slots
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.runs.turns import Numbers, TurnTable


def paths(table: TurnTable) -> list[Chart]:
    """One plot for each hyper-parameter of the space."""
    return [path(table, name) for name in table.space]


def path(table: TurnTable, name: str) -> Chart:
    """A parameter's values: of each member in each turn, and along the winner's line, turn by turn of the line."""
    param = table.space[name]
    values = places(table, name)
    step = stride(len(table) * max(1, len(table.space)) // 2)
    series = [_steps(values, every(rows, step), table, f"member {slot}", "member") for slot, rows in slots(table).items()]
    winners = np.asarray(table.best_line, dtype=np.int64)
    series.append(_steps(values, winners, table, "schedule of the best", "winner"))
    return Chart(
        f"hparam-{name}",
        f"Hyper-parameter {name}",
        Axis("turn"),
        Axis(name, log=logarithmic(param), categories=categories(param)),
        [part for part in series if len(part.x)],
        joined(f"Range {param}.", sampling_note(step)),
        (name,),
    )


def places(table: TurnTable, name: str) -> Numbers:
    """The values of a parameter as numbers: themselves, or their place in its list; NaN where it has none."""
    param = table.space[name]
    return np.array([_place(param, hparams.get(name)) for hparams in table.hparams], dtype=np.float64)


def categories(param: Param) -> list[str]:
    return [str(value) for value in param.values] if isinstance(param, (Choice, Ordinal)) else []


def logarithmic(param: Param) -> bool:
    return isinstance(param, (Float, Int)) and param.log


def _place(param: Param, value: Any) -> float:
    if isinstance(param, (Choice, Ordinal)):
        found = [place for place, other in enumerate(param.values) if other == value and type(other) is type(value)]
        return found[0] if found else np.nan
    return float(value) if isinstance(value, (int, float)) else np.nan


def _steps(values: Numbers, rows: Numbers, table: TurnTable, name: str, role: str) -> Series:
    return Series(name, table.turn[rows].tolist(), values[rows].tolist(), role, "steps")  # type: ignore[arg-type]
