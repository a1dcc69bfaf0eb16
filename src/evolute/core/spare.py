"""How much memory and disk this machine has to spare."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Spare:
    """Bytes of memory and of disk; None where nobody knows."""

    memory: int | None = None
    disk: int | None = None


def free_memory() -> int | None:
    """Bytes that can be used without swapping; None where the system does not say."""
    try:
        found = re.search(r"MemAvailable:\s+(\d+) kB", MEMINFO.read_text())
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def free_disk(folder: Path) -> int | None:
    """Bytes that can be written to a folder, which need not be there yet; None where the system does not say."""
    path = folder.absolute()
    try:
        return shutil.disk_usage(next(place for place in (path, *path.parents) if place.exists())).free
    except OSError:
        return None
