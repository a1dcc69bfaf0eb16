"""Programs that play games: started by us, with all that they start themselves, and ended with us, however we end."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from evolute.core import guard

ADDRESS, TOKEN, GAMES = "EVOLUTE_ADDRESS", "EVOLUTE_TOKEN", "EVOLUTE_GAMES"
"""Environment variables that tell a program where to connect, the token to show, and how many connections to make."""
KEPT = 2000
"""How many bytes of its last output are told."""
FATE = 1.0
"""Seconds that a program has to end after its connection was lost."""


class Program:
    """A running program. What it prints goes into a file without a name, for its last words."""

    def __init__(self, command: Sequence[str], port: int, games: int) -> None:
        self.token = secrets.token_hex(16)
        self.greeted, self.connected, self.failed = False, 0, 0
        """Whether it has said hello, how many games it has connected, and how many have failed and not come back."""
        self.awaited_since = time.monotonic()
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the program may print
        self.process = subprocess.Popen(
            [sys.executable, "-SE", guard.__file__, str(os.getpid()), *command],
            stdin=subprocess.DEVNULL,
            stdout=self._printed,
            stderr=subprocess.STDOUT,
            process_group=0,
            env={**os.environ, ADDRESS: f"127.0.0.1:{port}", TOKEN: self.token, GAMES: str(games)},
        )

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None

    def last_words(self, patience: float = FATE) -> str:
        """How it ended, if it does within `patience` seconds, and the last of what it printed."""
        end = time.monotonic() + patience
        while not self.ended and time.monotonic() < end:
            time.sleep(0.01)
        code = self.process.poll()
        fate = "the program is still running" if code is None else f"the program ended with exit code {code}"
        if code is not None and code - 128 in signal.valid_signals():
            fate = f"the program ended with signal {code - 128}"
        self._printed.seek(max(0, os.fstat(self._printed.fileno()).st_size - KEPT))
        printed = self._printed.read().decode(errors="replace").strip()
        return f"{fate}, after it had printed:\n{printed}" if printed else f"{fate}, and had printed nothing"

    def end(self) -> None:
        """Kill it, with all that it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._printed.close()
