"""The command `steer`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from evolute.runs import steer as steering


def steer(folder: Path, words: Sequence[str], *, turn: int, wait: bool) -> None:
    """Ask something of a run, and print which decision has taken it, or why none did."""
    request = steering.worded(folder, words, turn=turn)
    name = steering.ask(folder, request, later=not wait)
    if not wait:
        print(f"left for the next decision: {request}")
        return
    try:
        answer = steering.wait(folder, name)
    except KeyboardInterrupt:
        steering.withdraw(folder, name)
        print(f"withdrawn: {request}", file=sys.stderr)
        sys.exit(130)
    if answer.refused is not None:
        print(f"error: {answer}", file=sys.stderr)
        sys.exit(2)
    print(f"taken by decision {answer.decision}: {answer}")
