"""The cores of this process."""

from __future__ import annotations

import os


def cores() -> list[int]:
    """The cores that this process may use, or all, where the system does not say."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:
        return list(range(os.cpu_count() or 1))
