"""The live table in a notebook: HTML that replaces itself while the cell runs."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import IO, Any, Protocol

from evolute.config.resolve import Config
from evolute.core.events import Event, Notice
from evolute.core.population import Population
from evolute.report.watched import Watched, folded
from evolute.runs.shown import table

EVERY = 0.5
ROWS = 32


class Shown(Protocol):
    """Something on the page that can be replaced."""

    def update(self, content: Any) -> None: ...


Show = Callable[..., Shown]


def notebook_display() -> Show | None:
    """IPython's `display` in the kernel of a notebook, None elsewhere. IPython is not imported unless it already is."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or "IPKernelApp" not in shell.config:
        return None
    show: Show = importlib.import_module("IPython.display").display
    return show


@dataclass
class NotebookTable:
    """Shows itself by `show`, and again twice a second while there is news. Notices are printed to `out`."""

    out: IO[str]
    show: Show
    _run: Watched | None = None
    _shown: Shown | None = None
    _drawn: float = 0.0

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        self._run = Watched(folder, config, population)
        self._shown = self.show(self, display_id=True)

    def watch(self, event: Event) -> None:
        if isinstance(event, Notice):
            print(f"warning: {event.text}" if event.warning else event.text, file=self.out, flush=True)
        if self._run is None:
            return
        self._run.take(event)
        if time.monotonic() - self._drawn >= EVERY:
            self._draw()

    def end(self) -> None:
        self._draw()

    def __repr__(self) -> str:
        return "" if self._run is None else self._run.headline

    def _repr_html_(self) -> str:
        run = self._run
        if run is None:
            return ""
        members, others = folded(run.population, ROWS)
        columns = run.columns(members)
        rows = list(zip(*(column.texts for column in columns), strict=True))
        bold = [member.slot in run.best_members for member in members]
        bar = f"<progress value={run.share:.3f} max=1></progress>"
        head = f"<p>{escape(run.headline)} &nbsp; {bar} {escape(str(run.folder))}</p>"
        return f"{head}{table([column.name for column in columns], rows, bold)}<p>{escape(others)}</p>"

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        if self._shown is not None:
            self._shown.update(self)
