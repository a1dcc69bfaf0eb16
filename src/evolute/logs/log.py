"""What a log is, and the one watcher that feeds all logs of a run from its events."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from evolute.config.error import ConfigError
from evolute.core.events import Event, Notice, Notify, Reported
from evolute.core.population import Population, Turn
from evolute.store.meta import RunMeta

FOLDER = "logs"


class Log(Protocol):
    """Takes finished turns and events. What it gets when it is opened, it gets anew each time a run goes on."""

    def turns(self, turns: Sequence[Turn]) -> None:
        """Write finished turns, in the order of their reports."""

    def event(self, text: str) -> None:
        """Write down that something happened."""

    def close(self, population: Population) -> None:
        """Write what can only be known at the end, such as lines of descent, and let go."""


@dataclass(frozen=True)
class Opening:
    """What a log is opened with: the run's folder, and what its journal says of it."""

    folder: Path
    meta: RunMeta

    @property
    def place(self) -> Path:
        return self.folder / FOLDER


@dataclass
class Logs:
    """All logs of a run; a log that fails is reported once and left alone, since it must not take the run down."""

    notify: Notify
    _open: dict[str, Log] = field(default_factory=dict)
    _given_up: list[Log] = field(default_factory=list)

    def start(self, names: Sequence[str], opening: Opening, population: Population) -> None:
        """Open the logs and give them all turns so far."""
        past = arrived(population)
        for name in names:
            module = import_module(f"evolute.logs.{name}_log")
            try:
                self._open[name] = module.open_log(opening)
            except ImportError as error:
                raise ConfigError(f"log = {name}: {error}; pip install 'evolute[{name}]'") from error
            except Exception as error:
                self._failed(name, error)
            self._each([name], "turns", past)

    def watch(self, event: Event) -> None:
        """Pass on what concerns logs."""
        if isinstance(event, Reported):
            found = [event.population[report.order.member].last for report in event.reports]
            self._each(list(self._open), "turns", [turn for turn in found if turn is not None])
        if isinstance(event, Notice):
            self._each(list(self._open), "event", event.text)

    def close(self, population: Population) -> None:
        self._each(list(self._open), "close", population)
        for log in self._given_up:
            with contextlib.suppress(Exception):
                log.close(population)

    def _each(self, names: Iterable[str], method: str, value: Any) -> None:
        for name in names:
            if name not in self._open:
                continue
            try:
                getattr(self._open[name], method)(value)
            except Exception as error:
                self._given_up.append(self._open.pop(name))
                self._failed(name, error)

    def _failed(self, name: str, error: Exception) -> None:
        self.notify(Notice(f"the log {name} failed and is given up: {type(error).__name__}: {error}", warning=True))


def arrived(population: Population) -> list[Turn]:
    """All finished turns, parents before their children."""
    turns = [turn for member in population.members for turn in member.history()]
    return sorted(turns, key=lambda turn: (turn.ref.turn, turn.ref.member))


def scalars(turn: Turn) -> dict[str, float]:
    """The numbers of a turn by name: its score, metrics and numeric hyper-parameters."""
    found: dict[str, float] = {} if turn.score is None else {"score": turn.score}
    metrics = {f"metrics/{name}": value for name, value in turn.report.metrics.items() if name != "score"}
    hparams = {f"hparams/{name}": value for name, value in turn.order.hparams.items()}
    for name, value in {**metrics, **hparams}.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = float(value)
    return {**found, "seconds": turn.report.seconds}


def told(turn: Turn) -> str | None:
    """What happened at a turn, if it was more than training on."""
    start, member = turn.order.start, turn.ref.member
    if turn.failed:
        return f"member {member} failed turn {turn.ref.turn}: {turn.report.reason}"
    if start is not None and start.member != member:
        values = ", ".join(f"{name}={value}" for name, value in turn.order.hparams.items())
        return f"member {member} took over the weights of member {start.member} at turn {turn.ref.turn}: {values}"
    return None
