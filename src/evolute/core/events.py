"""The events of a run, for whoever watches it: a display, a JSON stream, a log, a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from evolute.core.order import Order, Ref, Report
from evolute.core.population import Population


@dataclass(frozen=True, slots=True)
class Decided:
    """Orders were journalled and go to the engine now."""

    orders: list[Order]
    population: Population


@dataclass(frozen=True, slots=True)
class Progressed:
    """A cohort is under way."""

    refs: list[Ref]
    share: float
    note: str


@dataclass(frozen=True, slots=True)
class Reported:
    """Reports came in and were journalled."""

    reports: list[Report]
    population: Population
    elapsed: float


@dataclass(frozen=True, slots=True)
class Rated:
    """The run has ended, and its members' last states were rated; before, ratings come with decisions."""

    population: Population


@dataclass(frozen=True, slots=True)
class Saved:
    """States became durable."""

    states: int
    size: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know: a rescue, a fallback, a rewind."""

    text: str
    warning: bool = False


Event = Decided | Progressed | Reported | Rated | Saved | Notice
Notify = Callable[[Event], None]


def silent(event: Event) -> None:
    """Watch nothing."""
