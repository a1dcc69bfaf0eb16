"""Learning curves: by member, where a curve jumps when weights are taken over, and by line of descent, where none does."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from evolute.report.figures.chart import BUDGET, Axis, Chart, Series
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.runs.turns import FRESH, Numbers, TurnTable

WINNER = "line of descent of the best"


def by_member(table: TurnTable) -> Chart:
    """The score of every member over the steps of its slot; the winner's ancestry in front."""
    step = stride(len(table))
    series = [
        _points(table.score, every(rows, step), table.member_steps, f"member {slot}", "member")
        for slot, rows in slots(table).items()
    ]
    series += _ancestry(table, step) + _new_generations(table)
    return Chart(
        "curves-by-member",
        "Score of each member",
        Axis("environment steps of the member"),
        Axis(score_label(table)),
        [part for part in series if len(part.x)],
        joined("A curve jumps where a member takes over another's weights.", sampling_note(step)),
    )


def by_line(table: TurnTable) -> Chart:
    """The score along lines of descent: a child begins at the point of its parent, so that no curve jumps."""
    series, note = line_series(table, table.score, BUDGET)
    return Chart(
        "curves-by-line",
        "Score along each line of descent",
        Axis("environment steps along the line"),
        Axis(score_label(table)),
        series,
        joined("A line begins at its parent's point. Grey lines died out.", note),
    )


def line_series(table: TurnTable, values: Numbers, budget: int) -> tuple[list[Series], str]:
    """Values along lines of descent, the winner's in front, and what was left out to keep within a budget of points."""
    alive = living(table)
    whole = len(table) <= budget
    chosen = np.flatnonzero(~table.failed) if whole else np.flatnonzero(alive)
    step = stride(len(chosen), budget)
    died = "" if whole else f"{int((~alive & ~table.failed).sum()):,} turns of lines that died out are left out."
    series = [
        _points(
            values,
            every(chain, step),
            table.line_steps,
            f"line through member {table.member[chain[-1]]}",
            "living" if alive[chain[-1]] else "extinct",
        )
        for chain in chains(table, chosen)
    ]
    series.sort(key=lambda part: part.role == "living")
    series.append(_points(values, every(table.best_line, step), table.line_steps, WINNER, "winner"))
    return [part for part in series if len(part.x)], joined(sampling_note(step), died)


def slots(table: TurnTable) -> dict[int, Numbers]:
    """The rows of each member, by turn."""
    order = np.lexsort((table.turn, table.member))
    parts = np.split(order, np.flatnonzero(np.diff(table.member[order])) + 1)
    return {int(table.member[rows[0]]): rows for rows in parts if len(rows)}


def living(table: TurnTable) -> Numbers:
    """Which rows have a descendant among the members' latest states: [row]."""
    alive = np.zeros(len(table), dtype=np.bool_)
    alive[list(table.latest.values())] = True
    parents = table.parent.tolist()
    for row in range(len(table) - 1, -1, -1):
        if alive[row] and parents[row] != FRESH:
            alive[parents[row]] = True
    return alive


def chains(table: TurnTable, chosen: Numbers) -> list[list[int]]:
    """The chosen rows as unbroken stretches in one slot; each begins with the row it descends from."""
    made: list[list[int]] = []
    ending: dict[int, list[int]] = {}
    for row in chosen.tolist():
        parent = int(table.parent[row])
        chain = ending.pop(parent, None) if parent != FRESH and table.member[parent] == table.member[row] else None
        if chain is None:
            chain = [] if parent == FRESH else [parent]
            made.append(chain)
        chain.append(row)
        ending[row] = chain
    return made


def score_label(table: TurnTable) -> str:
    """What the score is, and that a minimised metric is shown with its sign flipped."""
    if table.deviations:
        return "rating"
    if table.meta.objectives:
        return "sum of the objectives"
    name = str(table.meta.identity.get("score", "score"))
    return f"score (minus {name[1:]})" if name.startswith("-") else "score" if name == "score" else f"score ({name})"


def _ancestry(table: TurnTable, step: int) -> list[Series]:
    """The winner's line in the pieces that it spent in each slot."""
    pieces: dict[int, list[list[int]]] = defaultdict(list)
    before = None
    for row in table.best_line:
        slot = int(table.member[row])
        if slot != before:
            pieces[slot].append([])
        pieces[slot][-1].append(row)
        before = slot
    return [
        _points(table.score, every(piece, step), table.member_steps, f"{WINNER} (member {slot})", "winner")
        for slot, parts in pieces.items()
        for piece in parts
    ]


def _new_generations(table: TurnTable) -> list[Series]:
    """Where new generations begin, on the time axis."""
    from evolute.report.figures.generations import borders  # which draws on the scores of this module

    known = table.score[~np.isnan(table.score)]
    return borders(table, table.member_steps, float(known.min()), float(known.max())) if len(known) else []


def _points(values: Numbers, rows: Numbers, x: Numbers, name: str, role: str) -> Series:
    rows = rows[~np.isnan(values[rows])] if len(rows) else rows
    return Series(name, x[rows].tolist(), values[rows].tolist(), role)  # type: ignore[arg-type]
