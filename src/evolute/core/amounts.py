"""Amounts as people write them: `500k` steps, `10m` of time."""

from __future__ import annotations

import re
from typing import Any

_COUNTS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def count(value: Any) -> Any:
    """A whole number, also as `500k` or `25M`."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([kMG])", value) if isinstance(value, str) else None
    return value if found is None else round(float(found[1]) * _COUNTS[found[2]])


def duration(value: Any) -> Any:
    """Seconds, also as `90s`, `10m`, `2h` or `1d`."""
    found = re.fullmatch(r"(\d+(?:\.\d*)?)\s*([smhd])", value) if isinstance(value, str) else None
    return value if found is None else float(found[1]) * _TIMES[found[2]]
