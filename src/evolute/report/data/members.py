"""One member as every view shows it: `show`, the report and the dashboard."""

from __future__ import annotations

from typing import TypedDict

from evolute.core.lineage import origin
from evolute.core.order import Json, Order
from evolute.core.population import Member
from evolute.core.ranking import is_number
from evolute.runs.turns import TurnTable


class MemberRow(TypedDict):
    """A member: finished turns, steps used, the score of its latest state, and what it runs now or ran last."""

    member: int
    turns: int
    steps: int
    score: float | None
    objectives: list[float | None]
    hparams: dict[str, Json]
    weights: str
    failed: bool
    error: str | None


def member_row(member: Member) -> MemberRow:
    """The row of a member of a population."""
    last = member.last
    order = member.running or (None if last is None else last.order)
    error = last.report.reason if last is not None and last.failed else None
    score = None if member.latest is None else member.latest.score
    row = _row(member.slot, order, turns=member.turns, steps=member.steps, score=score, error=error)
    return {**row, "objectives": [] if member.latest is None else list(member.latest.objectives)}


def table_row(table: TurnTable, slot: int) -> MemberRow:
    """The same row, from a table of turns."""
    last, latest = table.last.get(slot), table.latest.get(slot)
    score = None if latest is None else float(table.score[latest])
    score = score if is_number(score) else None
    running = table.running.get(slot)
    if last is None:
        return _row(slot, running, turns=0, steps=0, score=score, error=None)
    row = _row(
        slot,
        running or table.order(last),
        turns=int(table.turn[last]) + 1,
        steps=int(table.member_steps[last]),
        score=score,
        error=table.reason(last),
    )
    reached = [] if latest is None or not table.objectives.size else table.objectives[latest].tolist()
    return {**row, "objectives": [value if is_number(value) else None for value in reached]}


def _row(slot: int, order: Order | None, *, turns: int, steps: int, score: float | None, error: str | None) -> MemberRow:
    return {
        "member": slot,
        "turns": turns,
        "steps": steps,
        "score": score,
        "objectives": [],
        "hparams": {} if order is None else dict(order.hparams),
        "weights": "" if order is None else _weights(order),
        "failed": error is not None,
        "error": error,
    }


def _weights(order: Order) -> str:
    """Where a member's weights came from, and whether it is pinned."""
    return f"{origin(order)}{', pinned' if order.why.get('event') == 'pinned' else ''}"
