"""How different the members still are: in their hyper-parameters, and in whom they descend from."""

from __future__ import annotations

import numpy as np

from evolute.core.param import Choice
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.report.figures.downsample import joined, sampling_note, stride
from evolute.runs.turns import Numbers, TurnTable

UNIFORM = 12**-0.5
"""The standard deviation of a uniform draw from [0, 1]."""


def spread(table: TurnTable, name: str) -> Numbers:
    """How widely a parameter's values lie in each turn: 1 as in a uniform draw, 0 if all are the same: [turn].

    For numbers the standard deviation in the parameter's scale, for categories the chance that two members differ.
    """
    turns, units = table.turn, table.units[name]
    known = np.isfinite(units)
    turns, units = turns[known], units[known]
    length = int(table.turn.max()) + 1 if len(table) else 0
    count = np.maximum(np.bincount(turns, minlength=length), 1)
    param = table.space[name]
    if isinstance(param, Choice):
        sizes = len(param.values)
        places = np.minimum((units * sizes).astype(np.int64), sizes - 1)
        shares = [np.bincount(turns, places == place, minlength=length) / count for place in range(sizes)]
        return np.asarray((1 - sum(share**2 for share in shares)) / (1 - 1 / sizes))
    mean = np.bincount(turns, units, minlength=length) / count
    square = np.bincount(turns, (units - mean[turns]) ** 2, minlength=length) / count
    return np.asarray(np.sqrt(square) / UNIFORM)


def founders(table: TurnTable) -> Numbers:
    """How many of the fresh starts still have descendants in each turn: [turn]."""
    pairs = np.unique(np.stack([table.turn, table.founder])[:, ~table.failed], axis=1)
    return np.bincount(pairs[0], minlength=int(table.turn.max()) + 1 if len(table) else 0)


def of_hparams(table: TurnTable) -> list[Chart]:
    """The spread of each hyper-parameter over the turns; nothing if none is evolved."""
    turns, step = _turns(table)
    series = [Series(name, turns, spread(table, name)[::step].tolist()) for name in table.space]
    note = "1 is as wide as a uniform draw from the range, 0 means that all members have the same value."
    y = Axis("spread (1 = uniform draw)")
    chart = Chart("diversity", "Diversity of hyper-parameters", Axis("turn"), y, series, joined(note, sampling_note(step)))
    return [chart] if series else []


def of_descent(table: TurnTable) -> Chart:
    """How many fresh starts still have descendants, over the turns."""
    turns, step = _turns(table)
    living = Series("fresh starts with descendants", turns, founders(table)[::step].tolist(), kind="steps")
    return Chart("founders", "Whose weights are left", Axis("turn"), Axis("fresh starts with descendants"), [living])


def _turns(table: TurnTable) -> tuple[list[int], int]:
    """The turns that are drawn, and one in how many that is."""
    turns = np.arange(int(table.turn.max()) + 1)
    step = stride(len(turns) * (len(table.space) + 1))
    return turns[::step].tolist(), step
