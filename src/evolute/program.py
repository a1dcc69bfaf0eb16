"""The command that a person types to run Evolute here, for messages that say what to type next."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def program() -> str:
    """`evolute`, or the path it was started by if it is not on the search path."""
    started = sys.argv[0]
    return started if Path(started).name == "evolute" and shutil.which("evolute") is None else "evolute"
