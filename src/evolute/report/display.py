"""Which display suits the place: a live table on a terminal or in a notebook, plain lines elsewhere, JSON or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol

from evolute.config.resolve import Config
from evolute.core.events import Event
from evolute.core.population import Population
from evolute.runs.session import Launch


class Screen(Protocol):
    """Shows one run while it trains."""

    def begin(self, folder: Path, config: Config, population: Population) -> None: ...
    def watch(self, event: Event) -> None: ...
    def end(self) -> None: ...


class Display:
    """A screen that is cleared away, whatever ends the run."""

    def __init__(self, screen: Screen) -> None:
        self.screen = screen

    def __enter__(self) -> Display:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.screen.end()

    def watching(self, how: Launch) -> Launch:
        """The same launch, with this display watching it."""
        return replace(how, notify=self.screen.watch, begin=self.screen.begin)


def display_for(out: IO[str], *, quiet: bool = False, json: bool = False) -> Display:
    """The display that suits `out`."""
    if quiet:
        from evolute.report.lines import Quiet

        return Display(Quiet())
    if json:
        from evolute.report.lines import JsonLines

        return Display(JsonLines(out))
    if out.isatty():
        from evolute.report.live import LiveTable

        return Display(LiveTable(out))
    from evolute.report.notebook import NotebookTable, notebook_display

    if show := notebook_display():
        return Display(NotebookTable(out, show))
    from evolute.report.lines import Lines

    return Display(Lines(out))
