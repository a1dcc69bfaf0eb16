"""Other libraries that ours is compared with: each in a virtual environment of its own, and asked by a program in `peers/`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PROGRAMS = Path(__file__).parent / "peers"
VENVS = Path(__file__).parent / ".venvs"


def python_of(name: str) -> str:
    """The Python of a peer's virtual environment, which is made of `peers/NAME.txt` if it is missing."""
    venv = VENVS / name
    if not venv.exists():
        print(f"(making the environment of {name})", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        requirements = str(PROGRAMS / f"{name}.txt")
        subprocess.run([str(venv / "bin" / "pip"), "install", "--quiet", "-r", requirements], check=True)
    return str(venv / "bin" / "python")


def program_of(name: str) -> str:
    return str(PROGRAMS / f"{name}.py")


def answer(command: Sequence[str], **options: Any) -> dict[str, Any]:
    """The last JSON object that a program prints on a line of its own; options are those of `subprocess.run`."""
    done = subprocess.run(command, check=False, capture_output=True, text=True, **options)
    found = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not found:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
    last: dict[str, Any] = json.loads(found[-1])
    return last
