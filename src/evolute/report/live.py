"""The live table: one row per member, with its score, its hyper-parameters and where its weights came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from evolute.config.resolve import Config
from evolute.core.events import Event, Notice, Progressed
from evolute.core.population import Population
from evolute.report.columns import drawn, fitted, hidden_line
from evolute.report.watched import Watched, folded

FRAME = 4
"""Lines besides the headline and the rows: the progress bar, the names of columns, what is hidden, and the cursor's."""
BAR = 60


@dataclass
class LiveTable:
    """Redraws a few times a second, whatever the pace of the run."""

    out: IO[str]
    _console: Console = field(init=False)
    _live: Live | None = None
    _run: Watched | None = None

    def __post_init__(self) -> None:
        self._console = Console(file=self.out)

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        self._run = Watched(folder, config, population)
        self._live = Live(self, console=self._console, refresh_per_second=6, transient=True)
        self._live.start()

    def watch(self, event: Event) -> None:
        match event:
            case Notice(text=text, warning=warning):
                self._console.print(Text(text, style="yellow" if warning else "dim"))
            case Progressed(note=note) if self._live is None:
                self._console.print(Text(note, style="dim"), end="\r")
        if self._run is not None:
            self._run.take(event)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if self._run is None:
            return
        headline = Text(self._run.headline, style="bold")
        yield headline
        yield from _bar(self._run, options.max_width)
        lines = len(headline.wrap(console, options.max_width))
        yield from _table(self._run, options.max_width, max(console.height - FRAME - lines, 3))


def _bar(run: Watched, width: int) -> Iterator[RenderableType]:
    """How much is done, and where the run is if there is room for that."""
    folder = f"  {run.folder}"
    yield ProgressBar(total=1.0, completed=run.share, width=min(BAR, width))
    yield Text(folder if BAR + len(folder) <= width else "")


def _table(run: Watched, width: int, room: int) -> Iterator[RenderableType]:
    everyone = len(run.population) <= room
    members, others = folded(run.population, room if everyone else room - 1)
    columns, hidden = fitted(run.columns(members), width)
    best = run.best_members
    yield drawn(
        columns,
        width,
        row_styles=["bold green" if member.slot in best else "" for member in members],
        header_style="dim",
    )
    for line in (others, hidden_line(hidden) if hidden else ""):
        if line:
            yield Text(line, style="dim", no_wrap=True, overflow="ellipsis")
    yield Text("")  # where a terminal echoes ^C: at the end of a full line that would move everything up by one
