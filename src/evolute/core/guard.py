"""Runs a command for as long as the process that asked for it lives: `python guard.py PARENT COMMAND …`.

The asking process may be killed at any moment, so this one watches it from outside, and then kills the whole process group
that it shares with the command. It is run as a file of its own and needs the standard library alone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

TICK = 0.2


def main(parent: int, command: list[str]) -> int:
    """The command's exit code, or 128 and the signal that ended it."""
    try:
        process = subprocess.Popen(command)
    except OSError as error:
        print(f"{command[0]} cannot be started: {error.strerror}", flush=True)
        return 127
    while os.getppid() == parent:
        try:
            code = process.wait(TICK)
            return code if code >= 0 else 128 - code
        except subprocess.TimeoutExpired:
            pass
    os.killpg(0, signal.SIGKILL)
    return 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
