"""How good each member is: a score for every slot, None for a member whose last turn failed or that has no score.

Scores are ranked by `evolute.core.ranking`. In a run with several objectives, a score says on which front a member is, and how
much room it has there (MO-PBT, arXiv 2306.01436): it compares the members of one moment, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evolute.core.pareto import pareto_scores
from evolute.core.population import Population, Turn
from evolute.core.protocols import Plan

Scores = list[float | None]
Score = Callable[[Population], Scores]


def last_score(population: Population) -> Scores:
    """The score of each member's latest state; a turn in which no episode ended keeps the score before it."""
    return [None if turn is None else turn.score for turn in _latest(population)]


def pareto_score(population: Population) -> Scores:
    """The front of each member's latest state among those of all, with its crowding distance there."""
    return pareto_scores([None if turn is None else turn.objectives or None for turn in _latest(population)])


def score_for(plan: Plan) -> Score:
    """How the members of a plan are compared."""
    return pareto_score if plan.objectives else last_score


def scores_among(plan: Plan, turns: Sequence[Turn]) -> Scores:
    """The score of each of these turns: where there are several objectives, among these turns alone."""
    return pareto_scores([turn.objectives or None for turn in turns]) if plan.objectives else [turn.score for turn in turns]


def _latest(population: Population) -> list[Turn | None]:
    return [None if member.failed else member.latest for member in population.members]
