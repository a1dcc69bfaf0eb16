"""What other threads want the one that makes all MPI calls to do.

Python's own SimpleQueue would do, but its `get` can wait for ever if the timeout is over by the time that it looks at it again,
which happens with pauses of microseconds on a busy machine.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

Job = Callable[[], None]


@dataclass(eq=False)
class Jobs:
    """Any thread puts, one thread takes. With each job goes whether it matters, or is but a sign of life."""

    _due: deque[tuple[Job, bool]] = field(default_factory=deque)
    _bell: threading.Lock = field(default_factory=threading.Lock)
    """Is released whenever something is put."""

    def put(self, job: Job, matters: bool = True) -> None:
        self._due.append((job, matters))
        with suppress(RuntimeError):  # it is released already
            self._bell.release()

    def next(self, pause: float) -> tuple[Job, bool] | None:
        """The next job; if there is none, waits for one for `pause` seconds, or less if one has just been taken."""
        if not self._due and pause:
            self._bell.acquire(timeout=pause)
        return self._due.popleft() if self._due else None
