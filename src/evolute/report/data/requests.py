"""What was asked of a run while it trained, as every view shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from evolute.core.order import Json
from evolute.core.request import Answer
from evolute.store.requests import RequestFolder


def request_rows(folder: Path, answers: Sequence[Answer]) -> list[dict[str, Json]]:
    """All requests with the decision that took or refused each, oldest first; last, those that wait."""
    rows: list[dict[str, Json]] = [
        {"request": answer.asked, "decision": answer.decision, "refused": answer.refused} for answer in answers
    ]
    known = {answer.name for answer in answers}
    for name, body in RequestFolder(folder).waiting(tidy=False):
        if name not in known:
            rows.append({"request": Answer(-1, name, body).asked, "decision": None, "refused": None})
    return rows


def request_lines(rows: Sequence[dict[str, Json]]) -> Iterator[str]:
    """The same in words, a line each."""
    for row in rows:
        when = "waiting" if row["decision"] is None else f"decision {row['decision']}"
        refused = "" if row["refused"] is None else f": refused, {row['refused']}"
        yield f"steering, {when}: {row['request']}{refused}"
