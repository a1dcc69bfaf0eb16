"""What follows from the turns before: a turn's score, its steps, where its weights came from, and who is best.

Each question is answered here alone, on plain values, so that the live view, `ls`, `show`, reports, logs and strategies
agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from evolute.core.order import Order


def carried_score(own: float | None, *, failed: bool, parent: float | None) -> float | None:
    """A turn's score: its own, or that of the state it continued if no episode ended in it."""
    return parent if own is None and not failed else own


def score_along(line: Iterable[tuple[float | None, bool]]) -> float | None:
    """The score at the end of a line of descent, given each turn's own score and whether it failed, oldest first."""
    score = None
    for own, failed in line:
        score = carried_score(own, failed=failed, parent=score)
    return score


def line_steps(own: int, parent: int | None) -> int:
    """The environment steps of a line of descent, given those of its last turn and those of the line before it."""
    return own if parent is None else parent + own


def used_steps(ordered: int, done: int, *, failed: bool) -> int:
    """What a turn takes from its member's budget of steps: a failed one all that was ordered, or it could fail for ever."""
    return ordered if failed else done


class Origin(NamedTuple):
    """Where the weights of a turn came from; `donor` is the member they were taken from, or who teaches fresh ones."""

    kind: Literal["fresh", "taught", "imported", "own", "inherited", "rescued"]
    donor: int | None = None

    def __str__(self) -> str:
        match self.kind:
            case "inherited":
                return f"from {self.donor}"
            case "taught":
                return f"taught by {self.donor}"
            case "rescued":
                return f"rescued by {self.donor}"
        return self.kind


def origin(order: Order) -> Origin:
    """Where the weights of an order came from."""
    event = order.why.get("event")
    if order.start is None and order.teacher is not None:
        return Origin("taught", order.teacher.member)
    if order.start is None:
        return Origin("imported" if event == "import" else "fresh")
    if order.start.member == order.member:
        return Origin("own")
    return Origin("rescued" if event == "rescue" else "inherited", order.start.member)
