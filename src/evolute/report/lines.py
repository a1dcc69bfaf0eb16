"""Displays without a terminal: plain lines, one JSON object per turn, or nothing."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from evolute.config.resolve import Config
from evolute.core.events import Decided, Event, Notice, Progressed, Rated, Reported
from evolute.core.population import Population, Turn, best, front
from evolute.core.ranking import top
from evolute.report import formats
from evolute.report.data.front import front_text
from evolute.report.pace import Pace

EVERY = 2.0


class Quiet:
    """Shows nothing."""

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        return

    def watch(self, event: Event) -> None:
        return

    def end(self) -> None:
        return


@dataclass
class Lines:
    """A line every two seconds at most, and one for everything that went wrong."""

    out: IO[str]
    _pace: Pace | None = field(default=None)
    _said: float = field(default=0.0)
    _turn: int = field(default=-1)
    _best: Turn | None = field(default=None)
    _elapsed: float = field(default=0.0)
    _objectives: list[str] = field(default_factory=list)

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        self._pace = Pace(config.stop, config.settings.interval, config.settings.population)
        self._pace.count(0, 0)
        self._objectives = config.settings.objectives
        self._say(f"training {formats.count(len(population), 'member')} in {folder}")

    def watch(self, event: Event) -> None:
        match event:
            case Reported():
                self._reported(event)
            case Decided(population=population) | Rated(population=population):
                self._rated(population)
            case Notice():
                self._say(f"warning: {event.text}" if event.warning else event.text)
            case Progressed(note=note) if note and self._due():
                self._say(note)

    def end(self) -> None:
        return

    def _reported(self, event: Reported) -> None:
        if self._pace is None:
            return
        self._pace.count(len(event.reports), sum(report.steps for report in event.reports))
        self._elapsed = event.elapsed
        if any(report.matches for report in event.reports):
            return  # what these games say of the members comes with the next ratings
        self._note_best(event)
        self._say_best(event.population)

    def _rated(self, population: Population) -> None:
        """Ratings, where there are any, are made when all members that have played are known."""
        if any(turn.deviation is not None for turn in population.latest):
            self._turn, self._best = min(member.turns for member in population.members), best(population)
            self._say_best(population)

    def _say_best(self, population: Population) -> None:
        if self._pace is None or not self._due():
            return
        one, several = self._best, front(population)
        score = "no score yet" if one is None else f"best {formats.number(one.score)} (member {one.ref.member})"
        if several:
            score = front_text(self._objectives, [turn.objectives for turn in several])
        self._say(f"turn {self._turn}: {score}; {self._pace.text(population, self._elapsed)}")

    def _note_best(self, event: Reported) -> None:
        """Keep the best of this turn, so that it does not seem to fall while its member is the first in the next one."""
        turn = min(member.turns for member in event.population.members)
        if turn != self._turn:
            self._turn, self._best = turn, best(event.population)
            return
        news = [event.population[report.order.member].latest for report in event.reports]
        self._best = top([one for one in (self._best, *news) if one is not None], lambda one: one.score)

    def _due(self) -> bool:
        due = time.monotonic() - self._said >= EVERY
        if due:
            self._said = time.monotonic()
        return due

    def _say(self, text: str) -> None:
        with contextlib.suppress(ValueError):  # a learner may have closed the stream
            print(text, file=self.out, flush=True)


@dataclass
class JsonLines:
    """One JSON object per finished turn."""

    out: IO[str]

    def begin(self, folder: Path, config: Config, population: Population) -> None:
        return

    def watch(self, event: Event) -> None:
        if isinstance(event, Notice):
            self._put({"event": "warning" if event.warning else "note", "text": event.text})
        if not isinstance(event, Reported):
            return
        for report in event.reports:
            order = report.order
            self._put(
                {
                    "event": "turn",
                    "member": order.member,
                    "turn": order.turn,
                    "score": report.metrics.get("score"),
                    "metrics": dict(report.metrics),
                    "hparams": dict(order.hparams),
                    "start": None if order.start is None else list(order.start),
                    "why": dict(order.why),
                    "steps": report.steps,
                    "seconds": round(report.seconds, 6),
                    "timing": dict(report.timing),
                    "error": report.error,
                }
            )

    def end(self) -> None:
        return

    def _put(self, line: dict[str, object]) -> None:
        print(json.dumps(line), file=self.out, flush=True)
