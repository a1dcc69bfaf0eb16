"""A control group inside a run: some members are left alone, so that a run can tell whether tuning helps.

The last slots are random search: they keep their first hyper-parameters, and neither give nor take anything. The strategy
decides for the others as if there were no more of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolute.core.order import CONTROL_AHEAD, Json, Order, Ref
from evolute.core.population import Population
from evolute.core.protocols import Plan, Strategy
from evolute.core.ranking import better, top
from evolute.strategies.evolution import continued_order
from evolute.strategies.score import Scores, score_for

PATIENCE = 5
"""Turns in a row that the best of the control group must lead before that is told."""
EARLY = 0.25
"""The share of a run in which a lead may still be a lucky draw, and does not count."""
EARLY_TURNS = 10
"""The same in turns, where nobody knows how many there will be."""


@dataclass(frozen=True)
class Controlled:
    """`strategy` decides for all members but the last `control`."""

    plan: Plan
    strategy: Strategy
    control: int

    def init(self) -> Json:
        return {"strategy": self.strategy.init(), "turn": 0, "ahead": 0, "told": False}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        evolving = self._evolving(population)
        memory, orders = self.strategy.step(state["strategy"], evolving, [slot for slot in ready if slot < len(evolving)], rng)
        alone = [continued_order(self.plan, population, slot, rng) for slot in ready if slot >= len(evolving)]
        watched, orders = self._watched({**state, "strategy": memory}, population, [*orders, *alone])
        return watched, orders

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return self.strategy.retain(state["strategy"], self._evolving(population))

    def _evolving(self, population: Population) -> Population:
        return replace(population, members=population.members[: len(population) - self.control])

    def _watched(self, state: Json, population: Population, orders: list[Order]) -> tuple[Json, list[Order]]:
        """Counts the turns that the control group leads, and tells it in an order's reasons when there are enough."""
        turn = min(member.turns for member in population.members)
        if state["told"] or turn <= state["turn"]:
            return state, orders
        size = len(population) - self.control
        scores = score_for(self.plan)(population)
        alone, others = (_best(scores[slots], self.plan) for slots in (slice(size, None), slice(size)))
        early = EARLY_TURNS if self.plan.turns is None else int(EARLY * self.plan.turns)
        ahead = state["ahead"] + 1 if turn > early and better(alone, others) else 0
        told = ahead >= PATIENCE and bool(orders)
        if told:
            values = [None, None] if self.plan.objectives else [alone, others]
            orders = [replace(orders[0], why={**orders[0].why, CONTROL_AHEAD: [PATIENCE, *values]}), *orders[1:]]
        return {**state, "turn": turn, "ahead": ahead, "told": told}, orders


def _best(scores: Scores, plan: Plan) -> float | None:
    """The best of some scores; with several objectives the best front, so that one group leads if it has all of the first."""
    best = top(scores, lambda score: score)
    return math.floor(best) if best is not None and plan.objectives else best


def evolving_plan(plan: Plan, control: int) -> Plan:
    """The plan of the members that evolve; raises ValueError if there would be too few."""
    if plan.size - control < 2:
        raise ValueError(f"control={control}: of {plan.size} members at least 2 must be left to evolve")
    return replace(plan, size=plan.size - control)
