"""What replay buffers take, told before a run begins, and refused where there is not enough memory or disk."""

from __future__ import annotations

from dataclasses import dataclass

from evolute.core.protocols import Footprint
from evolute.core.spare import Spare

COPIES, TURN_COPIES = 2, 3
"""A row is in memory twice while it is learnt from, as it is kept and as the program reads it; those of a turn three times
while they become pieces of the buffer."""
OLDER = 2
"""Turns whose rows only older states have on disk: the state before, and while others are being saved the one before that."""
SHARE, LARGE = 0.8, 0.5
"""Of what is free, what buffers may take, and what a person is asked about."""


@dataclass(frozen=True)
class Buffers:
    """The buffers of all members: how many rows each has at most, how many a turn adds, and for how many rows of a turn the
    program has room. `key` is the setting of their capacity."""

    members: int
    rows: int
    row_bytes: int
    turn: int
    room: int
    key: str

    @property
    def text(self) -> str:
        return f"replay buffers: {self.members} members x {self.rows:,} rows of {self.row_bytes:,} bytes"

    @property
    def memory(self) -> int:
        return self._each * (COPIES * self.rows + TURN_COPIES * self.room)

    @property
    def disk(self) -> int:
        """With the newest two states of each member, and one more whole buffer for the best."""
        return self._each * (self.rows + OLDER * min(self.turn, self.rows)) + self.rows * self.row_bytes

    def footprint(self, spare: Spare) -> Footprint:
        """What they take; raises ValueError if there is no room for that."""
        needs = [("memory", self.memory, spare.memory), ("disk", self.disk, spare.disk)]
        known = [(name, needed, free) for name, needed, free in needs if free is not None]
        for name, needed, free in known:
            if needed > SHARE * free:
                raise ValueError(f"{self.text} take {size(needed)} of {name}, and {size(free)} are free: {self._remedy(spare)}")
        large = any(needed > LARGE * free for _, needed, free in known)
        return Footprint(f"{self.text}: at most {size(self.memory)} of memory, and about {size(self.disk)} on disk", large)

    def _remedy(self, spare: Spare) -> str:
        fits = []
        if spare.memory is not None:
            fits.append((SHARE * spare.memory / self._each - TURN_COPIES * self.room) / COPIES)
        if spare.disk is not None:
            fits.append((SHARE * spare.disk / self.row_bytes - OLDER * self.members * self.turn) / (self.members + 1))
        rows = _rounded(int(min(fits)))
        return f"set {self.key} to {rows:,} or less" if rows > 0 else "train fewer members, or for a shorter interval"

    @property
    def _each(self) -> int:
        """Bytes of a row of every member."""
        return self.members * self.row_bytes


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
