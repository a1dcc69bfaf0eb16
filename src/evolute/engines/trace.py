"""Where a child process was when it hung or crashed, as Python's fault handler reports it.

The child writes into a file that its parent has opened: on a crash by itself, otherwise when the parent asks by a signal.
That works in the middle of anything, also in C code that never returns.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO

LINES = 12
"""How many lines are shown, the innermost call first."""
PATIENCE = 2.0
"""Seconds that a child has to answer."""


@dataclass(frozen=True)
class Trace:
    """The parent's end: a file without a name."""

    file: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    @property
    def number(self) -> int:
        """The descriptor that the child inherits."""
        return self.file.fileno()

    def lines(self, pid: int | None = None) -> list[str]:
        """What the child has written; given its process id, ask it first where it is."""
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
            deadline = time.monotonic() + PATIENCE
            while not self._size() and time.monotonic() < deadline:
                time.sleep(0.02)
            time.sleep(0.05)  # until the last line is there
        written = os.pread(self.number, self._size(), 0).decode(errors="replace").splitlines()
        return [line for line in written if line.strip()][:LINES]

    def close(self) -> None:
        self.file.close()

    def _size(self) -> int:
        return os.fstat(self.number).st_size


def explain_to(number: int) -> None:
    """In the child: write to this descriptor on a crash, and when asked."""
    faulthandler.enable(number, all_threads=False)
    faulthandler.register(signal.SIGUSR1, number, all_threads=False)
