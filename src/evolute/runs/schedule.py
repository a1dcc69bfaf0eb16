"""The hyper-parameter schedule along a line of descent, as the strategy `schedule` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evolute.core.order import Ref
from evolute.core.population import Turn


def schedule_rows(line: Sequence[Turn], *, seeds: bool = False, teachers: Sequence[Ref] = ()) -> list[dict[str, Any]]:
    """The turns of a line as rows to train along; equal neighbours together unless each has its seed.

    A turn with one of these teachers names it by its place.
    """
    rows: list[dict[str, Any]] = []
    for turn in line:
        row = {"steps": turn.order.steps, "hparams": dict(turn.order.hparams)}
        if turn.order.teacher in teachers:
            row |= {"teacher": teachers.index(turn.order.teacher), "teacher_weight": list(turn.order.teacher_weight)}
        if seeds:
            rows.append({**row, "seed": turn.order.seed})
        elif rows and {key: value for key, value in rows[-1].items() if key != "turns"} == row:
            rows[-1]["turns"] += 1
        else:
            rows.append({"turns": 1, **row})
    return rows
