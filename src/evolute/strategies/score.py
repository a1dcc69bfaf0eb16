"""How good each member is: a score for every slot, None for a member whose last turn failed or that has no score.

Scores are ranked by `evolute.core.ranking`.
"""

from __future__ import annotations

from collections.abc import Callable

from evolute.core.population import Population

Scores = list[float | None]
Score = Callable[[Population], Scores]


def last_score(population: Population) -> Scores:
    """The score of each member's latest state; a turn in which no episode ended keeps the score before it."""
    return [None if member.failed or member.latest is None else member.latest.score for member in population.members]
