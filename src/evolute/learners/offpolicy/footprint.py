"""What replay buffers take, told before a run begins, and refused where there is not enough memory."""

from __future__ import annotations

COPIES = 2
"""A row is in memory twice while it is learnt from: as it is kept, and as the program reads it."""
SHARE = 0.8
"""Of the free memory, what buffers may take."""


def check(members: int, rows: int, row_bytes: int, free: int | None, key: str) -> str:
    """A sentence on the buffers of all members; raises ValueError if they do not fit into the memory that is free."""
    disk = members * rows * row_bytes
    text = f"replay buffers: {members} members x {rows:,} rows of {row_bytes:,} bytes"
    if free is None or COPIES * disk <= SHARE * free:
        return f"{text}: at most {size(COPIES * disk)} of memory, and about {size(disk)} on disk"
    fits = int(SHARE * free / (COPIES * members * row_bytes))
    raise ValueError(
        f"{text} take {size(COPIES * disk)} of memory, and {size(free)} are free: set {key} to {_rounded(fits):,} or less"
    )


def size(value: int) -> str:
    """A number of bytes, short."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if value >= unit:
            return f"{value / unit:.2g} {name}" if value < 10 * unit else f"{value / unit:.0f} {name}"
    return f"{value} bytes"


def _rounded(value: int) -> int:
    """The number, rounded down to two digits."""
    unit = int(10 ** max(0, len(str(value)) - 2))
    return value // unit * unit
