"""A run as a Python prompt and a notebook show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from evolute.core.amounts import named, number
from evolute.core.lineage import origin
from evolute.core.population import Member, best
from evolute.core.ranking import rank_key
from evolute.runs.schedule import schedule_rows

if TYPE_CHECKING:
    from evolute.runs.result import Run

CHANGES = 6
"""The longest schedule that is shown whole at a prompt."""
ROWS = 32
"""The most members that are shown in a notebook."""


def text(run: Run) -> str:
    """State, best score, and the best one's schedule, in a few lines."""
    if best(run.population) is None:
        return f"Run {headline(run)}"
    parts = [f"  {span}: {values}" for span, values in _schedule(run)]
    if len(parts) > CHANGES:
        left_out = f"  … {len(parts) - CHANGES} more changes …"
        parts = [*parts[: CHANGES // 2], left_out, *parts[-CHANGES // 2 :]]
    best_of = "schedule of the one whose objectives add up to most:" if run.front else "schedule of the best:"
    return "\n".join([f"Run {headline(run)}", best_of, *parts])


def html(run: Run) -> str:
    """The same with a table of the members."""
    members = run.population.members
    top = best(run.population)
    shown = members if len(members) <= ROWS else sorted(members, key=lambda one: rank_key(_score(one)))[:ROWS]
    rows = [_row(member, list(run.meta.space)) for member in shown]
    bold = [top is not None and member.slot == top.ref.member for member in shown]
    more = "" if len(shown) == len(members) else f"<p>… {len(members) - len(shown)} more members</p>"
    schedule = "" if top is None else table(["turns", "schedule of the best"], [[*part] for part in _schedule(run)])
    return f"<p>Run {escape(headline(run))}</p>{table(_columns(run), rows, bold)}{more}{schedule}"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], bold: Sequence[bool] = ()) -> str:
    """A table in HTML, of any texts."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr{' style=font-weight:bold' if any(bold[place : place + 1]) else ''}>"
        f"{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>"
        for place, row in enumerate(rows)
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def headline(run: Run) -> str:
    """The folder, the state, and the best member."""
    state = run.meta.ended or run.status
    if best(run.population) is None:
        return f"{run.folder}: {state}; no score yet"
    if run.front:
        members = ", ".join(str(agent.member) for agent in run.front)
        return f"{run.folder}: {state}; front of {len(run.front)} by {', '.join(run.meta.objectives)} (members {members})"
    return f"{run.folder}: {state}; best score {number(run.best.score)} (member {run.best.member})"


def _schedule(run: Run) -> list[tuple[str, str]]:
    """The best one's hyper-parameters by turns of its line of descent."""
    parts, first = [], 0
    for row in schedule_rows(run.best.lineage):
        last = first + row["turns"] - 1
        parts.append((f"turn {first}" if first == last else f"turns {first}–{last}", named(row["hparams"])))
        first = last + 1
    return parts


def _columns(run: Run) -> list[str]:
    return ["member", "score", "turns", "weights", *run.meta.space]


def _row(member: Member, names: Sequence[str]) -> list[str]:
    order = member.running or (None if member.last is None else member.last.order)
    weights = "" if order is None else str(origin(order))
    values = ["" if order is None else number(order.hparams.get(name)) for name in names]
    return [str(member.slot), number(_score(member)), str(member.turns), "failed" if member.failed else weights, *values]


def _score(member: Member) -> float | None:
    return None if member.latest is None else member.latest.score
