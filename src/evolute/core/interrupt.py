"""Ctrl-C and SIGTERM, taken only where nothing can be left half done; a second one ends the process at once."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A person or a scheduler asked the run to stop.

    `code` is the exit code that says so, `saved` says what was saved, and `folder` is where, if the run had begun.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
        self.saved = "nothing was lost"
        self.folder: Path | None = None

    def __str__(self) -> str:
        return f"stopped by {signal.Signals(self.args[0]).name}: {self.saved}"


@dataclass
class Interrupts:
    """Remembers a signal until the run reaches a point where it can stop."""

    pending: int | None = None
    _open: bool = False

    @contextlib.contextmanager
    def installed(self) -> Iterator[Interrupts]:
        """Handle signals while the block runs; outside the main thread, where Python forbids it, do nothing."""
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Inside this block a signal raises Interrupted; one that came before raises it at once."""
        self._open = True
        try:
            if self.pending is not None:
                raise Interrupted(self.pending)
            yield
        finally:
            self._open = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.pending is not None:
            os._exit(128 + number)
        self.pending = number
        if self._open:
            raise Interrupted(number)
