"""Feeds all logs of a run from its events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from evolute.core.events import Decided, Event, Notice, Notify, Reported
from evolute.core.population import Population, Turn
from evolute.logs.sink import Log, LoggedRun, LogSink


@dataclass
class LogFeed:
    """All logs of a run. A log that fails is reported once and gets nothing more; the run continues without it.

    Where members are `rated`, a turn is logged when its rating is known: with the next decision, or when the run is finished.
    """

    notify: Notify
    rated: bool = False
    _open: dict[str, Log] = field(default_factory=dict)
    _failed: list[Log] = field(default_factory=list)

    def start(self, sinks: Mapping[str, LogSink], run: LoggedRun, population: Population) -> None:
        """Open the logs and give them all turns so far."""
        past = [turn for turn in past_turns(population) if not self._waits(turn, population)]
        for name, sink in sinks.items():
            try:
                self._open[name] = sink(run)
            except Exception as error:
                self._report(name, error)
        self._each(lambda log: log.turns(past))

    def watch(self, event: Event) -> None:
        """Pass on what concerns logs."""
        if isinstance(event, Reported) and not self.rated:
            self._pass_on(event.population, [report.order.member for report in event.reports])
        if isinstance(event, Decided) and self.rated:
            self._pass_on(event.population, [order.member for order in event.orders])
        if isinstance(event, Notice):
            text = event.text
            self._each(lambda log: log.event(text))

    def finish(self, population: Population) -> None:
        """Log what was still to be rated, at the end of the run."""
        if self.rated:
            self._pass_on(population, range(len(population)))

    def close(self, population: Population) -> None:
        """Close all logs, also those that failed."""
        self._each(lambda log: log.close(population))
        for log in self._failed:
            with contextlib.suppress(Exception):
                log.close(population)

    def _waits(self, turn: Turn, population: Population) -> bool:
        member = population[turn.ref.member]
        return self.rated and member.last is turn and member.running is None

    def _pass_on(self, population: Population, slots: Iterable[int]) -> None:
        """Log the last turns of these members."""
        turns = [turn for slot in slots if (turn := population[slot].last) is not None]
        self._each(lambda log: log.turns(turns))

    def _each(self, use: Callable[[Log], None]) -> None:
        for name, log in list(self._open.items()):
            try:
                use(log)
            except Exception as error:
                self._failed.append(self._open.pop(name))
                self._report(name, error)

    def _report(self, name: str, error: Exception) -> None:
        self.notify(Notice(f"the log {name} failed and is no longer written: {type(error).__name__}: {error}", warning=True))


def past_turns(population: Population) -> list[Turn]:
    """All finished turns, parents before their children."""
    turns: Iterable[Turn] = (turn for member in population.members for turn in member.history())
    return sorted(turns, key=lambda turn: (turn.ref.turn, turn.ref.member))
