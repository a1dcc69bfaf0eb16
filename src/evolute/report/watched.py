"""What a display knows of a run that trains: its population, its pace, and how far each turn is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evolute.config.resolve import Config
from evolute.core.events import Decided, Event, Progressed, Rated, Reported
from evolute.core.lineage import origin
from evolute.core.order import Order, Ref
from evolute.core.population import Member, Population, best, front
from evolute.core.ranking import is_number, rank_key
from evolute.report import formats
from evolute.report.columns import Column
from evolute.report.pace import Pace

NOTE = 14
"""A learner's note in the column `turn` may be cut to this many characters where there is no room."""

ACTORS = {
    "samples_per_second": ("samples/s", ",.0f"),
    "queue": ("queue", ".0f"),
    "lag": ("lag", ".1f"),
    "restarts": ("restarts", ".0f"),
}
"""Metrics of turns with actors or at a free pace: what they are called in the table, and with how many digits."""


@dataclass
class Watched:
    """A run that trains, as far as its events have told."""

    folder: Path
    config: Config
    population: Population
    elapsed: float = 0.0
    pace: Pace = field(init=False)
    _progress: dict[Ref, tuple[float, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        settings = self.config.settings
        self.pace = Pace(self.config.stop, settings.interval, settings.population)
        self.pace.count(0, 0)

    def take(self, event: Event) -> None:
        match event:
            case Progressed(refs=refs, share=share, note=note):
                self._progress |= dict.fromkeys(refs, (share, note))
            case Decided(population=population) | Rated(population=population):
                self.population = population
            case Reported(reports=reports, population=population, elapsed=elapsed):
                self.population, self.elapsed = population, elapsed
                self.pace.count(len(reports), sum(report.steps for report in reports))
                for report in reports:
                    self._progress.pop(report.order.ref, None)

    @property
    def headline(self) -> str:
        turns = min(member.turns for member in self.population.members)
        title = f"{self.config.learner.name} with {self.config.strategy.name}, turn {turns}"
        return f"{title}: {self.pace.text(self.population, self.elapsed)}"

    @property
    def share(self) -> float:
        """How much of the run is done, 0 if that cannot be known."""
        return self.pace.share(self.population, self.elapsed) or 0.0

    @property
    def best_members(self) -> set[int]:
        """The best member, or with several objectives those on the front."""
        top = best(self.population)
        alone = [] if top is None else [top]
        return {
            turn.ref.member for turn in (front(self.population) or alone) if turn is self.population[turn.ref.member].latest
        }

    def columns(self, members: Sequence[Member]) -> list[Column]:
        """The table of these members; hyper-parameters give way first, the last of them before the others."""
        orders = [_order(member) for member in members]
        origins = [None if order is None else origin(order) for order in orders]
        weights = ["" if source is None else str(source) for source in origins]
        styles = ["red" if source is not None and source.kind == "rescued" else "" for source in origins]
        return [
            Column("member", [str(member.slot) for member in members], needed=True),
            *self._compared(members),
            *_actors(members),
            *(self._values(name, orders) for name in self.config.space),
            Column("weights", weights, left=True, needed=True, styles=styles),
            Column("turn", [self._doing(order) for order in orders], left=True, needed=True, least=NOTE),
        ]

    def _compared(self, members: Sequence[Member]) -> list[Column]:
        """What members are compared by: the score, or each of several objectives."""
        names = self.config.settings.objectives
        if not names:
            return [Column("score", [formats.number(score_of(member)) for member in members], needed=True)]
        reached = [(member.latest and member.latest.objectives) or [None] * len(names) for member in members]
        return [Column(name, [formats.number(row[place]) for row in reached], needed=True) for place, name in enumerate(names)]

    def _values(self, name: str, orders: Sequence[Order | None]) -> Column:
        values = [("" if order is None else order.hparams.get(name)) for order in orders]
        return Column(name, list(map(formats.number, values)), short=list(map(formats.short, values)))

    def _doing(self, order: Order | None) -> str:
        if order is None:
            return ""
        share, note = self._progress.get(order.ref, (None, ""))
        return f"{order.turn} {note or ('' if share is None else f'{share:.0%}')}".rstrip()


def _actors(members: Sequence[Member]) -> list[Column]:
    """How sampling goes with actors, or where nobody waits for anybody, as far as members tell."""
    reports = [None if member.latest is None else member.latest.report for member in members]
    told = [{} if report is None else {**report.metrics, **report.timing} for report in reports]
    if not any("samples_per_second" in metrics for metrics in told):
        return []
    columns = []
    for name, (title, digits) in ACTORS.items():
        values = [metrics.get(name) for metrics in told]
        columns.append(Column(title, [format(value, digits) if is_number(value) else "" for value in values]))
    return [column for column in columns if any(column.texts)]


def score_of(member: Member) -> float | None:
    """The score of a member's latest state."""
    return None if member.latest is None else member.latest.score


def folded(population: Population, room: int) -> tuple[list[Member], str]:
    """All members by slot if there is room for them, else the best, and a line on the others."""
    if len(population) <= room:
        return list(population.members), ""
    ranked = sorted(population.members, key=lambda member: rank_key(score_of(member)))
    shown, others = ranked[:room], ranked[room:]
    scores = [score for score in map(score_of, others) if score is not None and is_number(score)]
    told = f"scores {formats.number(min(scores))} to {formats.number(max(scores))}" if scores else "no score yet"
    return shown, f"… {formats.count(len(others), 'more member')}, {told}"


def _order(member: Member) -> Order | None:
    return member.running or (None if member.last is None else member.last.order)
