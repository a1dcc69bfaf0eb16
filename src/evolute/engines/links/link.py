"""A link from a leader to its workers: calls go out, events come in. Processes, MPI and Ray each have one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from evolute.core.tree import Tree


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker is ready, at an address where other workers reach it."""

    worker: int
    address: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A call came back: with a value, or with the traceback of an exception."""

    worker: int
    ticket: int
    value: Tree = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """A worker sent a message in the middle of a call."""

    worker: int
    value: Tree


@dataclass(frozen=True, slots=True)
class Gone:
    """A worker died, or was silent for longer than its lease; its calls will not be answered."""

    worker: int
    why: str


@dataclass(frozen=True, slots=True)
class Late:
    """A worker that was replaced spoke again; what it sent does not count."""

    worker: int


Event = Ready | Answered | Update | Gone | Late


class Link(Protocol):
    """Workers by number. Each call gets a ticket, and is answered under it unless its worker goes."""

    @property
    def size(self) -> int:
        """How many workers there are."""

    def post(self, worker: int, method: str, argument: Tree, *, concurrent: bool = False) -> int:
        """Call a method of a worker's object; returns the ticket. `concurrent` ones do not wait for those before."""

    def poll(self, timeout: float | None = None) -> list[Event]:
        """What has happened; waits until something has, or for `timeout` seconds."""

    def replace(self, worker: int) -> None:
        """Start another worker instead of one that is gone, later if it keeps dying before it is ready."""

    def close(self) -> None:
        """End all workers and free everything."""


class WorkerContext(Protocol):
    """How a worker's object reaches its leader and the other workers."""

    def send_update(self, value: Tree) -> None:
        """Send the leader a message in the middle of a call."""

    def ask(self, address: str, method: str, argument: Tree) -> Tree:
        """Call a method of another worker's object, concurrently; raises ConnectionError if it cannot be reached."""


Make = Callable[[WorkerContext], Any]
"""Builds a worker's object, in the worker."""
