"""What a log sink is, and how sinks are found by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evolute.config.error import ConfigError
from evolute.core.names import resolve, shipped
from evolute.core.population import Population, Turn
from evolute.store.meta import RunMeta

FOLDER = "logs"


@dataclass(frozen=True)
class LoggedRun:
    """The run that a log is opened for: its folder, and what its journal says of it."""

    folder: Path
    meta: RunMeta

    @property
    def log_folder(self) -> Path:
        """Where logs keep their files."""
        return self.folder / FOLDER


class Log(Protocol):
    """Takes finished turns and events until it is closed. An error in a log is reported once and never stops the run."""

    def turns(self, turns: Sequence[Turn]) -> None:
        """Write finished turns. The first call has all turns so far, parents before children; later ones have new turns."""

    def event(self, text: str) -> None:
        """Write down that something happened."""

    def close(self, population: Population) -> None:
        """Write what is only known at the end, such as lineages, and close."""


class LogSink(Protocol):
    """Opens the log of a run, at the start of each session: `log=NAME` opens it with the function NAME.

    To ship a sink, add the module `logs/<name>.py` with a function `<name>`; your own is `log=package.module:name`. Import
    the library it needs at the top of the module: sinks are imported before the run's folder is made, so a missing library
    is reported before training. A log that cannot be rewritten when a run is resumed has to skip what it has already, as
    those with a `Bookmark` do. A complete sink:

        def lines(run: LoggedRun) -> Log:
            return Lines((run.folder / "lines.txt").open("w"))

        @dataclass
        class Lines:
            file: TextIO

            def turns(self, turns): self.file.writelines(f"{turn.ref} {turn.score}\\n" for turn in turns)
            def event(self, text): self.file.write(f"{text}\\n")
            def close(self, population): self.file.close()
    """

    def __call__(self, run: LoggedRun, /) -> Log:
        """The log of this run, ready for turns."""


@dataclass(frozen=True)
class CheckedSink:
    """A sink that can tell before a run begins that it would fail: `problem` is the reason, or None."""

    open: LogSink
    problem: Callable[[], str | None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.open.__doc__)  # a sink is described by its function

    def __call__(self, run: LoggedRun, /) -> Log:
        return self.open(run)


def checked_by(problem: Callable[[], str | None]) -> Callable[[LogSink], CheckedSink]:
    """Decorates a sink with what is asked before a run begins."""
    return lambda sink: CheckedSink(sink, problem)


def sinks(names: Iterable[str]) -> dict[str, LogSink]:
    """The sinks with these names; one that cannot be imported, or could not log, is a ConfigError that says what to do."""
    return {name: _sink(name) for name in names}


def _sink(name: str) -> LogSink:
    try:
        sink: LogSink = resolve("logs", name)
    except ImportError as error:
        install = f"; pip install 'evolute[{name}]'" if name in shipped("logs") else ""
        raise ConfigError(f"log = {name}: {error}{install}") from error
    except ValueError as error:
        raise ConfigError(f"log = {name}: {error}") from error
    if not callable(sink):
        raise ConfigError(f"log = {name}: should be a function that opens a log, and is a {type(sink).__name__}")
    if isinstance(sink, CheckedSink) and (problem := sink.problem()) is not None:
        raise ConfigError(f"log = {name}: {problem}")
    return sink
