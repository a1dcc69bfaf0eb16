"""What a person types to run Evolute here, for messages that say what to do next."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def typed(command: str, folder: Path | str) -> str:
    """A command on a run, by `evolute`, or by the path it was started by if it is not on the search path."""
    started = sys.argv[0]
    program = started if Path(started).name == "evolute" and shutil.which("evolute") is None else "evolute"
    return f"{program} {command} {shlex.quote(str(folder))}"
