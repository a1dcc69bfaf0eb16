"""How much memory this machine has to spare."""

from __future__ import annotations

import re
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Bytes that can be used without swapping; None where the system does not say."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", MEMINFO.read_text())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None
