"""The family tree over turns: who trained on whose weights, which lines live, and where weights were taken over."""

from __future__ import annotations

import numpy as np

from evolute.report.figures.chart import BUDGET, Axis, Chart, Series
from evolute.report.figures.curves import WINNER, chains, living
from evolute.report.figures.downsample import every, joined, sampling_note, stride
from evolute.report.figures.generations import borders, lessons
from evolute.runs.turns import FRESH, Numbers, TurnTable


def takeovers(table: TurnTable) -> Numbers:
    """The rows whose weights came from another member."""
    parents = np.where(table.parent == FRESH, 0, table.parent)
    return np.flatnonzero((table.parent != FRESH) & (table.member[parents] != table.member))


def tree(table: TurnTable) -> Chart:
    """A row for each member, a column for each turn; take-overs are slanted links."""
    alive = living(table)
    taken = takeovers(table)
    whole = len(table) <= BUDGET
    drawn = taken if whole else taken[alive[taken]]
    step = stride(2 * len(drawn))
    chosen = np.flatnonzero(~table.failed) if whole else np.flatnonzero(alive)
    own = [[row for row in chain if table.member[row] == table.member[chain[-1]]] for chain in chains(table, chosen)]
    stretches = [chain for chain in own if len(chain) > 1]
    series = [
        _links(table, [c for c in stretches if not alive[c[-1]]], "died out", "extinct"),
        _links(table, [c for c in stretches if alive[c[-1]]], "has living descendants", "living"),
        _links(table, [[int(table.parent[row]), row] for row in drawn[::step]], "weights taken over", "takeover"),
        Series(WINNER, table.turn[table.best_line].tolist(), table.member[table.best_line].tolist(), "winner"),
        *lessons(table),
        *borders(table, table.turn, 0, table.size - 1),
        _failures(table),
    ]
    left = "" if whole else f"{len(taken) - len(drawn):,} take-overs whose lines died out are left out."
    return Chart(
        "family",
        "Family tree",
        Axis("turn"),
        Axis("member"),
        [part for part in series if len(part.x)],
        joined(f"{len(taken):,} take-overs.", sampling_note(step, "take-over"), left),
    )


def _links(table: TurnTable, stretches: list[list[int]], name: str, role: str) -> Series:
    """Each stretch as one link from its first row to its last."""
    ends = [row for stretch in stretches for row in (stretch[0], stretch[-1])]
    return Series(name, table.turn[ends].tolist(), table.member[ends].tolist(), role, "links")  # type: ignore[arg-type]


def _failures(table: TurnTable) -> Series:
    rows = every(np.flatnonzero(table.failed), stride(int(table.failed.sum()), 2000))
    texts = [(table.reason(int(row)) or "")[:200] for row in rows]
    return Series("failed turn", table.turn[rows].tolist(), table.member[rows].tolist(), "failure", "points", texts=texts)
