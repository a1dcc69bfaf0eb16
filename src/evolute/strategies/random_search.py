"""Random search: every member keeps its first hyper-parameters. The control for every other strategy.

A member whose turn failed tries again from its own state, and after a second failure restarts with fresh weights
and hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.strategies.evolution import continued_order


@dataclass(frozen=True)
class RandomSearch:
    """The strategy that never exploits and never explores."""

    plan: Plan

    def init(self) -> Json:
        return {}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        return state, [continued_order(self.plan, population, slot, rng) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return ()


def random_search(plan: Plan) -> RandomSearch:
    """Random search with the budget of any other strategy."""
    return RandomSearch(plan)
