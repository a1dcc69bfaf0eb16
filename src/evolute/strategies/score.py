"""How good each member is: a score for every slot, NaN for a member whose last turn failed or that has none."""

from __future__ import annotations

import math
from collections.abc import Callable

from evolute.core.population import Population

Scores = list[float]
Score = Callable[[Population], Scores]


def last_score(population: Population) -> Scores:
    """The score of each member's latest state; a turn in which no episode ended keeps the score before it."""
    scores = []
    for member in population.members:
        turn = member.latest
        scores.append(math.nan if member.failed or turn is None or turn.score is None else turn.score)
    return scores


def ranked(scores: Scores) -> list[int]:
    """The slots from best to worst: NaN below every number, ties to the lower slot."""
    return sorted(range(len(scores)), key=lambda slot: _rank(scores[slot]))


def _rank(score: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(score) else (False, -score)
