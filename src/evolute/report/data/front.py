"""The front of a run with several objectives, as every view shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from evolute.core.order import Json
from evolute.core.population import Population, Turn, front
from evolute.report.formats import number


class FrontRow(TypedDict):
    """One of the front; `latest` says whether it is its member's latest state, or an older one that the run kept."""

    member: int
    turn: int
    latest: bool
    objectives: list[float]
    hparams: dict[str, Json]


def front_rows(population: Population) -> list[FrontRow]:
    """The front, by the first objective."""
    return [_row(population, turn) for turn in front(population)]


def front_text(names: Sequence[str], points: Sequence[Sequence[float]]) -> str:
    """How large the front is, and how far it reaches in each objective."""
    if not points:
        return "no member has reached the objectives yet"
    reach = [
        f"{name} {number(min(values))} to {number(max(values))}"
        for name, values in zip(names, zip(*points, strict=True), strict=True)
    ]
    return f"front of {len(points)}: {', '.join(reach)}"


def _row(population: Population, turn: Turn) -> FrontRow:
    latest = population[turn.ref.member].latest
    return {
        "member": turn.ref.member,
        "turn": turn.ref.turn,
        "latest": latest is not None and latest.ref == turn.ref,
        "objectives": list(turn.objectives),
        "hparams": dict(turn.order.hparams),
    }
