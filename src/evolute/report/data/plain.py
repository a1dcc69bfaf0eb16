"""Values of hyper-parameters as cells of a table show them."""

from __future__ import annotations

from typing import Any

from evolute.core.order import Json
from evolute.report.figures.chart import short


def plain(value: Any) -> Json:
    """A hyper-parameter's value in a cell: a number or a text."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, (int, float)):
        return short(value)
    return str(value)
