"""What the figures suggest to do: widen a range, keep more diversity, make turns longer."""

from __future__ import annotations

import numpy as np

from evolute.core.param import Float, Int
from evolute.core.ranking import rank_key
from evolute.report.data.evaluation import score_hints
from evolute.report.figures.diversity import spread
from evolute.report.figures.importance import gains
from evolute.report.figures.speed import totals
from evolute.report.formats import number
from evolute.runs import circles, control
from evolute.runs.turns import FRESH, TurnTable

EDGE = 0.02
"""How close to its bound, as a share of the range, a value counts as being at it."""
ALIKE = 0.1
"""A population whose parameters spread less than this share of a uniform draw has lost its diversity."""
LEAST = 8
"""With fewer turns of each member there are no hints on the population."""


def hints(table: TurnTable) -> list[str]:
    """Sentences for a user; those on the population only when there is enough to go by."""
    if not len(table) or table.best is None:
        return []
    evaluated = list(score_hints(table.meta, table.ref(table.best), float(table.score[table.best])))
    reasons = [*table.why, *(order.why for order in table.running.values())]
    evaluated += filter(None, (circles.warning(reasons, table.folder), control.warning(reasons)))
    if int(table.turn.max()) + 1 < LEAST or table.size < 4:
        return evaluated
    return [*evaluated, *bounds(table), *diversity(table), *noise(table)]


def bounds(table: TurnTable) -> list[str]:
    """Parameters whose winners sit at a bound: the best quarter of the members now."""
    scored = [row for row in table.latest.values() if np.isfinite(table.score[row])]
    top = sorted(scored, key=lambda row: rank_key(float(table.score[row])))[: max(2, len(scored) // 4)]
    sentences = []
    for name, param in table.space.items():
        if not isinstance(param, (Float, Int)):
            continue
        for bound, value, word in ((0.0, param.low, "lower"), (1.0, param.high, "upper")):
            if all(abs(table.units[name][row] - bound) <= EDGE for row in top):
                sentences.append(f"{name}: the winners sit at its {word} bound {number(value)}; a wider range may do better")
    return sentences


def diversity(table: TurnTable) -> list[str]:
    """A population of near copies explores no more."""
    if not table.space or not totals(table)["inherited"]:
        return []
    last = [float(spread(table, name)[-3:].mean()) for name in table.space]
    if max(last) >= ALIKE:
        return []
    return ["all members have nearly the same hyper-parameters; a larger population or more resampling keeps them apart"]


def noise(table: TurnTable) -> list[str]:
    """Whether the lead of the best is no larger than what a member's score wobbles by from turn to turn."""
    wobble = wobbling(table)
    scores = np.array([table.score[row] for row in table.latest.values()])
    lead = float(np.nanmax(scores) - np.nanmedian(scores))
    if wobble is None or not 0 < lead <= wobble:
        return []
    return [
        f"the best leads the median by {number(lead)}, and scores wobble by {number(wobble)} from turn to turn: "
        "selection follows noise; longer turns (interval) or more episodes per turn help"
    ]


def wobbling(table: TurnTable) -> float | None:
    """How much scores change by chance in the last third: the spread of changes where weights and values were kept."""
    rows, gain = gains(table)
    parents = table.parent[rows]
    kept = (parents != FRESH) & (table.member[parents] == table.member[rows]) & (table.turn[rows] > table.turn.max() * 2 / 3)
    late = np.flatnonzero(kept)
    kept[late] = [table.hparams[rows[at]] == table.hparams[parents[at]] for at in late]
    if kept.sum() < LEAST:
        return None
    changes = gain[kept]
    return float(np.median(np.abs(changes - np.median(changes))) * 1.4826)
