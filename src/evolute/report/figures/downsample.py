"""Draws fewer points where a plot would have too many, and says so."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evolute.report.figures.chart import BUDGET
from evolute.runs.turns import Numbers


def stride(points: int, budget: int = BUDGET) -> int:
    """The stride that keeps a number of points within a budget."""
    return max(1, math.ceil(points / budget))


def every(rows: Sequence[int] | Numbers, step: int) -> Numbers:
    """Every `step`-th of these rows, with the first and the last."""
    found = np.asarray(rows, dtype=np.int64)
    if step == 1 or len(found) < 3:
        return found
    kept = found[::step]
    return kept if kept[-1] == found[-1] else np.append(kept, found[-1])


def sampling_note(step: int, what: str = "turn") -> str:
    """The sentence that says how much of a plot is drawn."""
    return "" if step == 1 else f"One {what} in {step} is drawn."


def joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)
