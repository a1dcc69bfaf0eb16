"""Run as a script: a whole run in a process of its own, which kills itself at the write point of a given number.

Usage: killed.py FOLDER SETTINGS-AS-JSON [POINT]. Without a number it writes how many points it passed to FOLDER.points.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import evolute
from evolute.store import points


def main() -> None:
    folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
    at = int(sys.argv[3]) if len(sys.argv) > 3 else None
    passed: list[str] = []

    def hook(name: str) -> None:
        passed.append(name)
        if len(passed) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    points.hooks.append(hook)
    evolute.run(folder=folder, display="none", **settings)
    folder.with_suffix(".points").write_text(json.dumps(passed))


if __name__ == "__main__":
    main()
