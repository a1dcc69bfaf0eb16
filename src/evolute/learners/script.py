"""Training code that nobody wants to import: any program that reads an order, and writes metrics and a checkpoint folder.

For every turn `command` is started with one more argument, the path of a JSON file:

    {"hparams": {"lr": 0.001}, "steps": 1000, "seed": 7, "start": "…/start", "save": "…/save", "metrics": "…/metrics.json"}

It trains for that many steps, from the files in the folder `start`, or from scratch if that is null. Then it writes its new
files into the folder `save`, and {"score": 1.0} with any other numbers into the file `metrics`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NoReturn

from annotated_types import Gt, doc
from pydantic import BeforeValidator

from evolute.core import guard
from evolute.core.amounts import duration
from evolute.core.order import Hparams
from evolute.core.param import Evolves
from evolute.core.protocols import TurnError

Files = dict[str, bytes]
LINES, WIDTH = 20, 500
"""How much of what a program printed is shown if it fails."""
Seconds = Annotated[float, BeforeValidator(duration), Gt(0)]


class script:  # noqa: N801 - a plug-in is named as users write it
    """A program that reads a JSON order and writes metrics and a checkpoint folder; other settings are hyper-parameters."""

    def __init__(
        self,
        *,
        command: Annotated[str, Evolves.NEVER, doc("what to start for each turn; the path of the order is added to it")],
        timeout: Annotated[Seconds | None, Evolves.NEVER, doc("how long it may take: seconds, or 10m, 2h")] = None,
        repeatable: Annotated[bool, Evolves.NEVER, doc("whether the same order always ends in the same files")] = False,
    ) -> None:
        self._command, self._timeout, self.repeatable = shlex.split(command), timeout, repeatable
        if not self._command:
            raise ValueError("script.command is empty: name a program, as in 'python train.py'")

    def train(self, state: Files | None, hparams: Hparams, steps: int, seed: int) -> tuple[Files, Mapping[str, Any]]:
        with tempfile.TemporaryDirectory(prefix="evolute-") as name:
            folder = Path(name)
            start, save, metrics = folder / "start", folder / "save", folder / "metrics.json"
            save.mkdir()
            if state is not None:
                self.save(state, start)
            order = {
                "hparams": {key: value for key, value in hparams.items() if key not in ("command", "timeout", "repeatable")},
                "steps": steps,
                "seed": seed,
                "start": None if state is None else str(start),
                "save": str(save),
                "metrics": str(metrics),
            }
            (folder / "order.json").write_text(json.dumps(order, indent=2))
            self._run(folder)
            return self._saved(folder, save), self._told(folder, metrics)

    def save(self, state: Files, folder: Path) -> None:
        for name, content in state.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def load(self, folder: Path) -> Files:
        return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}

    def _run(self, folder: Path) -> None:
        """Start the program and wait for its end; if it takes too long it is killed with all that it has started."""
        watched = [sys.executable, "-SE", guard.__file__, str(os.getpid()), *self._command, str(folder / "order.json")]
        with (folder / "printed").open("wb") as printed:
            process = subprocess.Popen(
                watched, stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT, process_group=0
            )
            try:
                code = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                self._fail(folder, f"took longer than its timeout of {self._timeout:g} s")
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            killed = code - 128 in signal.valid_signals()
            self._fail(folder, f"ended with {f'signal {code - 128}' if killed else f'exit code {code}'}")

    def _saved(self, folder: Path, save: Path) -> Files:
        files = self.load(save)
        if not files:
            self._fail(folder, "wrote no file into the folder `save` of its order")
        return files

    def _told(self, folder: Path, metrics: Path) -> Mapping[str, Any]:
        try:
            numbers = json.loads(metrics.read_text())
        except FileNotFoundError:
            self._fail(folder, "did not write the file `metrics` of its order")
        except ValueError as error:
            self._fail(folder, f"wrote metrics that are no JSON ({error}): {metrics.read_bytes()[:60]!r}")
        if not isinstance(numbers, dict):
            self._fail(folder, f"wrote metrics that are no JSON object: {str(numbers)[:60]}")
        return numbers

    def _fail(self, folder: Path, what: str) -> NoReturn:
        raise TurnError(f"{last_lines(folder / 'printed')}\n{shlex.join(self._command)} {what}") from None


def last_lines(path: Path) -> str:
    """The end of what a program printed, as text whatever it is."""
    lines = path.read_bytes()[-LINES * WIDTH :].decode(errors="backslashreplace").splitlines()[-LINES:]
    shown = ["".join(letter if letter.isprintable() else "?" for letter in line)[:WIDTH] for line in lines]
    if not shown:
        return "the script printed nothing"
    return "\n".join(["the script's last lines:", *(f"  | {line}" for line in shown)])
