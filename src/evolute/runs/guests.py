"""Guests of a run: states of other runs and exported policies that its members play against, by names that never change.

Each is copied into the run's folder before any order names it, so that a run that is resumed meets the same players, whatever
has become of where they came from. New policies in a watched folder join when the next decision is made.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolute.config.error import ConfigError
from evolute.config.resolve import Config
from evolute.core.events import Notice, Notify
from evolute.core.order import Ref
from evolute.core.protocols import Invites, Learner
from evolute.core.tree import Tree, digest
from evolute.runs import folders
from evolute.runs.result import Run
from evolute.runs.states import states
from evolute.store.error import StoreError
from evolute.store.guests import Guests
from evolute.store.journal import Journal

POLICY = ".npz"
MEMBER = re.compile(r"(?P<run>.+):(?P<member>\d+)(@(?P<turn>\d+))?")


@dataclass(frozen=True)
class Guest:
    """A player from elsewhere: its name, where it was said to be, and its state."""

    name: str
    source: str
    tree: Tree


def invited(config: Config, learner: Learner[Any], known: Sequence[str] = ()) -> list[Guest]:
    """The guests that a config names, besides those whose sources are `known` and the folders that are watched.

    Raises ConfigError if one is not there or cannot play here.
    """
    parent = Path(config.settings.runs)
    given = [source for source in config.settings.opponents_.guests if source not in known]
    if given and config.opponents is None:
        raise ConfigError(f"opponents.guests = {given}: say who plays whom, as in opponents=history")
    return [_checked(_found(source, parent, learner), learner) for source in given if watched(source, parent) is None]


def watched(source: str, parent: Path) -> Path | None:
    """The folder to watch, if a source is one."""
    path = Path(source)
    return path if path.is_dir() and _run(source, parent) is None else None


@dataclass
class GuestList:
    """The guests of a run, for its strategy: calling it looks for new policies in watched folders, and gives all names."""

    folder: Path
    journal: Journal
    learner: Learner[Any]
    watched: Sequence[Path]
    notify: Notify
    _seen: set[tuple[str, int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._admitted = list(self.journal.meta.guests)

    def __call__(self) -> tuple[str, ...]:
        for path in self.watched:
            for file in sorted(path.glob(f"*{POLICY}")):
                self._look(file)
        return tuple(name for name, _, _ in self._admitted)

    def admit(self, guest: Guest) -> None:
        """Keep a guest, and write down that it has joined."""
        name, mark = guest.name, digest(guest.tree)
        stem, dot, suffix = name.partition(POLICY)
        taken = {other: its for other, _, its in self._admitted}
        number = 1
        while taken.get(name, mark) != mark:
            number += 1
            name = f"{stem}-{number}{dot}{suffix}"
        if name in taken:
            return
        Guests(self.folder).write(name, guest.tree)
        self._admitted.append((name, guest.source, mark))
        self.journal.put(guests=self._admitted)

    def verify(self) -> None:
        """Raise StoreError if a guest that the run has met is missing."""
        for name, _, mark in self._admitted:
            if wrong := Guests(self.folder).verify(name, mark):
                raise StoreError(f"{wrong}; this run cannot go on without it")

    def _look(self, file: Path) -> None:
        """Let the policy in a file join, unless it has. One that is not whole yet is looked at again when it has changed."""
        if any(source == str(file) for _, source, _ in self._admitted):
            return
        try:
            status = file.stat()
            if (version := (str(file), status.st_size, status.st_mtime_ns)) in self._seen:
                return
            self._seen.add(version)
            guest = _checked(_exported(file, str(file), self.learner), self.learner)
        except OSError:  # it may be gone again
            return
        except ConfigError as error:
            self.notify(Notice(f"{error}; it joins once this is mended", warning=True))
            return
        self.admit(guest)
        self.notify(Notice(f"{guest.source} joins the opponents"))


def _found(source: str, parent: Path, learner: Learner[Any]) -> Guest:
    """The guest that a source names: a state of a run, or a policy in a file."""
    if (run := _run(source, parent)) is not None:
        return _from_run(source, *run)
    path = Path(source)
    if path.suffix == POLICY and path.is_file():
        return _exported(path, source, learner)
    raise ConfigError(
        f"opponents.guests = {source}: is neither a run (RUN, RUN:MEMBER, RUN:MEMBER@TURN), nor an exported policy ({POLICY}), "
        "nor a folder of policies"
    )


def _run(source: str, parent: Path) -> tuple[Path, int | None, int | None] | None:
    """The run that a source names, also by its name among all runs; and the member and turn, if it says which."""
    for path in (Path(source), parent / source):
        if folders.is_run(path):
            return path, None, None
    match = MEMBER.fullmatch(source)
    if match is None or (found := _run(match["run"], parent)) is None or found[1] is not None:
        return None
    return found[0], int(match["member"]), None if match["turn"] is None else int(match["turn"])


def _from_run(source: str, folder: Path, member: int | None, turn: int | None) -> Guest:
    run = Run.open(folder)
    try:
        agent = run.best if member is None else run.member(member)
        ref = agent.turn.ref if turn is None else run.population.find(Ref(agent.member, turn)).ref
    except (KeyError, IndexError, StoreError) as error:
        raise ConfigError(f"opponents.guests = {source}: {folder} has no such state") from error
    tree = states(folder, [ref])[ref]
    return Guest(f"{folder.resolve().name}:{ref.member}@{ref.turn}", source, tree)


def _exported(path: Path, source: str, learner: Learner[Any]) -> Guest:
    if not isinstance(learner, Invites):
        raise ConfigError(f"opponents.guests = {source}: this learner cannot play against exported policies")
    return Guest(path.name, source, _or_refused(source, lambda: learner.guest_from(path.read_bytes())))


def _checked(guest: Guest, learner: Learner[Any]) -> Guest:
    """A guest that can play here."""
    if not isinstance(learner, Invites):
        raise ConfigError(f"opponents.guests = {guest.source}: this learner cannot play against guests")
    _or_refused(guest.source, lambda: learner.check_guest(guest.tree))
    return guest


def _or_refused(source: str, attempt: Callable[[], Any]) -> Any:
    try:
        return attempt()
    except ValueError as error:
        raise ConfigError(f"opponents.guests = {source}: {error}") from error
