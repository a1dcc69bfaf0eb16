"""Amounts as people write them, `500k` steps or `10m` of time, and values as they read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_COUNTS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def count(value: Any) -> Any:
    """A whole number, also as `500k` or `25M`."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kMG]?)", value)
    if match is None:
        raise ValueError("should be a whole number, or short as in 500k, 25M or 1G")
    return round(float(match[1]) * _COUNTS[match[2]]) if match[2] else value


def number(value: Any) -> str:
    """A value of a hyper-parameter or a metric, short."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def named(values: Mapping[str, Any]) -> str:
    """Values with their names, in one line."""
    return "  ".join(f"{name}={number(value)}" for name, value in values.items()) or "none evolved"


def duration(value: Any) -> Any:
    """Seconds, also as `90s`, `10m`, `2h` or `1d`."""
    if not isinstance(value, str):
        return value
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smhd]?)", value)
    if match is None:
        raise ValueError("should be seconds, or a time as in 90s, 10m, 2h or 1d")
    return float(match[1]) * _TIMES[match[2]]
