"""PB2 with several objectives: its model learns what improved their weighted sum, with other weights at each decision.

Random weights, as in ParEGO (Knowles 2006), let heirs be sent along the whole front in turn. Each objective counts in units of
its range among the members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evolute.core.order import Json
from evolute.core.population import Member, Population, Turn
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.strategies.exploit import Parents
from evolute.strategies.explore import Explore, Explored

Weights = np.ndarray[Any, np.dtype[np.float64]]


def weighed(plan: Plan, explore: Explore) -> Explore:
    """The rule for runs of one score, made one for the objectives of a plan, if it has any."""
    return _Weighed(explore) if plan.objectives else explore


@dataclass(frozen=True)
class _Weighed:
    explore: Explore

    def __call__(
        self, space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Explored:
        points = np.array([turn.objectives for turn in population.latest if turn.objectives])
        if not len(points) or not parents:
            return self.explore(space, population, parents, rng, memory)
        widths = points.max(axis=0) - points.min(axis=0)
        weights = rng.dirichlet(np.ones(points.shape[1])) / np.where(widths > 0, widths, 1.0)
        return self.explore(space, rescored(population, weights), parents, rng, memory)


def rescored(population: Population, weights: Weights) -> Population:
    """The population whose scores, also those of the past, are the weighted sums of their objectives."""
    made: dict[int, Turn] = {}

    def known(turn: Turn | None) -> Turn | None:
        return None if turn is None else made[id(turn)]

    stack = [member.last for member in population.members if member.last is not None]
    while stack:
        turn = stack[-1]
        missing = [one for one in (turn.before, turn.parent) if one is not None and id(one) not in made]
        if id(turn) in made or missing:
            stack.extend(missing) if missing else stack.pop()
            continue
        score = float(weights @ turn.objectives) if turn.objectives else None
        made[id(turn)] = replace(turn, score=score, before=known(turn.before), parent=known(turn.parent), jump=known(turn.jump))
        stack.pop()
    return replace(population, members=tuple(_with_turns(member, known) for member in population.members))


def _with_turns(member: Member, known: Any) -> Member:
    return replace(member, last=known(member.last), latest=known(member.latest))
