"""Which hyper-parameter mattered: how much of what a turn gained its value explains.

Gains are ranked within each turn, so that progress over time counts for nothing; then a parameter's share is the part of
the variance of ranks between eight bins of its range, less what chance alone would give (epsilon squared, Kelley 1935).
"""

from __future__ import annotations

import numpy as np

from evolute.report.figures.chart import Axis, Chart, Series
from evolute.runs.turns import FRESH, Numbers, TurnTable

BINS = 8
FEWEST = 24
"""With fewer gains than this there is no chart."""


def importance(table: TurnTable) -> dict[str, float]:
    """Each parameter's share of the gains, 0 to 1, largest first; nothing if there is too little to learn from."""
    rows, gain = gains(table)
    if len(rows) < FEWEST:
        return {}
    rank = ranked(table.turn[rows], gain)
    shares = {name: _explained(table.units[name][rows], rank) for name in table.space}
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def gains(table: TurnTable) -> tuple[Numbers, Numbers]:
    """The rows that have a score of their own and a parent with one, and what they gained on it."""
    parents = np.where(table.parent == FRESH, 0, table.parent)
    gain = table.own_score - table.score[parents] if len(table) else table.own_score
    rows = np.flatnonzero((table.parent != FRESH) & ~table.failed & np.isfinite(gain))
    return rows, gain[rows]


def ranked(turn: Numbers, gain: Numbers) -> Numbers:
    """The rank of each gain among those of its turn, from 0 to 1; ties share theirs."""
    rank = np.full(len(gain), np.nan)
    order = np.argsort(turn, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(turn[order])) + 1):
        if len(group) > 1:
            ordered = np.sort(gain[group])
            both = np.searchsorted(ordered, gain[group], "left") + np.searchsorted(ordered, gain[group], "right") - 1
            rank[group] = both / 2 / (len(group) - 1)
    return rank


def charts(table: TurnTable) -> list[Chart]:
    """The shares as bars; nothing if there are too few turns to say."""
    shares = importance(table)
    if not shares:
        return []
    names = list(shares)
    bars = Series("share", list(range(len(names))), [100 * share for share in shares.values()], "plain", "bars")
    note = (
        "How much of the difference between members' gains within a turn the value of each parameter explains, beyond what "
        "pure chance would give. A few per cent are usual where scores are noisy."
    )
    x, y = Axis("", categories=names), Axis("share of gains explained (%)")
    return [Chart("importance", "Which hyper-parameter mattered", x, y, [bars], note)]


def _explained(units: Numbers, rank: Numbers) -> float:
    known = np.isfinite(units) & np.isfinite(rank)
    units, rank = units[known], rank[known]
    bins = np.clip((units * BINS).astype(np.int64), 0, BINS - 1)
    counts = np.bincount(bins, minlength=BINS)
    filled = int((counts > 0).sum())
    total = float(((rank - rank.mean()) ** 2).sum()) if len(rank) else 0.0
    if filled < 2 or len(rank) <= filled or total <= 0:
        return 0.0
    means = np.bincount(bins, rank, minlength=BINS) / np.maximum(counts, 1)
    within = float(((rank - means[bins]) ** 2).sum())
    chance = (filled - 1) * within / (len(rank) - filled)
    return float(min(max((total - within - chance) / total, 0.0), 1.0))
