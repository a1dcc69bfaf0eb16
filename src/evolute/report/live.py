"""The live table: one row per member, with its score, its hyper-parameters and where its weights came from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from evolute.config.resolve import Config
from evolute.core.events import Decided, Event, Notice, Progressed, Reported
from evolute.core.order import Ref
from evolute.core.population import Member, Population, best
from evolute.core.ranking import rank_key
from evolute.report import words
from evolute.report.pace import Pace

FRAME = 6
"""Lines around the rows."""


@dataclass
class LiveTable:
    """Redraws a few times a second, whatever the pace of the run."""

    out: IO[str]
    _console: Console = field(init=False)
    _live: Live | None = None
    _config: Config | None = None
    _folder: Path | None = None
    _pace: Pace | None = None
    _population: Population | None = None
    _elapsed: float = 0.0
    _progress: dict[Ref, tuple[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._console = Console(file=self.out)

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        self._folder, self._config, self._population = folder, config, population
        self._pace = Pace(config.stop, config.settings.interval, config.settings.population)
        self._pace.count(0, 0)
        self._live = Live(self, console=self._console, refresh_per_second=6, transient=True)
        self._live.start()

    def watch(self, event: Event) -> None:
        match event:
            case Notice(text=text, warning=warning):
                self._console.print(Text(text, style="yellow" if warning else "dim"))
            case Progressed(refs=refs, share=share, note=note):
                if self._live is None:
                    self._console.print(Text(note, style="dim"), end="\r")
                self._progress |= dict.fromkeys(refs, (share, note))
            case Decided(population=population):
                self._population = population
            case Reported(reports=reports, population=population, elapsed=elapsed) if self._pace is not None:
                self._population, self._elapsed = population, elapsed
                self._pace.count(len(reports), sum(report.steps for report in reports))
                for report in reports:
                    self._progress.pop(report.order.ref, None)

    def end(self) -> None:
        if self._live is not None:
            self._live.stop()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if self._population is None or self._pace is None or self._config is None:
            return
        yield self._headline(self._population, self._pace)
        yield ProgressBar(total=1.0, completed=self._pace.share(self._population, self._elapsed) or 0.0, width=60)
        yield Text("")
        yield self._table(self._population, max(console.height - FRAME, 3))

    def _headline(self, population: Population, pace: Pace) -> Text:
        turns = min(member.turns for member in population.members)
        assert self._config is not None
        title = f"{self._config.learner.name} with {self._config.strategy.name}, turn {turns}"
        return Text(f"{title}: {pace.words(population, self._elapsed)}  ({self._folder})", style="bold", no_wrap=True)

    def _table(self, population: Population, room: int) -> Table:
        assert self._config is not None
        table = Table(box=None, pad_edge=False, header_style="dim")
        names = list(self._config.space)
        for column in ("member", "score", *names):
            table.add_column(Text(column), justify="right", no_wrap=True)
        table.add_column("weights", no_wrap=True)
        table.add_column("turn", no_wrap=True)
        top = best(population)
        shown = _most_important(population, room)
        for member in shown:
            style = "bold green" if top is not None and member.slot == top.ref.member else ""
            table.add_row(*self._row(member, names), style=style)
        if len(shown) < len(population):
            table.add_row("…", f"{len(population) - len(shown)} more", style="dim")
        return table

    def _row(self, member: Member, names: list[str]) -> list[RenderableType]:
        order = member.running or (None if member.last is None else member.last.order)
        score = None if member.latest is None else member.latest.score
        if order is None:
            return [str(member.slot), words.number(score)]
        share, note = self._progress.get(order.ref, (None, ""))
        doing = note or ("" if share is None else f"{share:.0%}")
        weights = Text(words.origin(order), style="red" if order.why.get("event") == "rescue" else "")
        values = [Text(words.number(order.hparams.get(name))) for name in names]
        return [str(member.slot), words.number(score), *values, weights, Text(f"{order.turn} {doing}")]


def _most_important(population: Population, room: int) -> list[Member]:
    """All members by slot if they fit, else the best."""
    if len(population) <= room:
        return list(population.members)
    ranked = sorted(population.members, key=lambda member: rank_key(None if member.latest is None else member.latest.score))
    return ranked[: room - 1]
