"""The frame that every evolving strategy shares: score the members, choose heirs and parents, change what is inherited.

A member whose turn failed is always replaced: by the exploit rule's choice, or else by a donor drawn from the better
half of the healthy ones. Where there is no donor it tries again from its own state, then from fresh weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Member, Population
from evolute.core.protocols import Plan
from evolute.core.ranking import is_number, ranked
from evolute.core.space import Space
from evolute.strategies.exploit import Exploit, Parents
from evolute.strategies.explore import Explore, Explored
from evolute.strategies.score import Score, Scores, score_for


@dataclass(frozen=True)
class Evolution:
    """A strategy composed of three functions. Its state is what `explore` remembers.

    Members are compared by `score`, or else by what the plan says: their last score, or several objectives.
    No member evolves before `burn_in` steps, and then only after every `every`-th of its turns; failed ones at any time.
    Without `rescue` a failed member that the exploit rule leaves alone tries again from its own state.
    """

    plan: Plan
    exploit: Exploit
    explore: Explore
    score: Score | None = None
    burn_in: int = 0
    rescue: bool = True
    every: int = 1

    def __post_init__(self) -> None:
        if self.every < 1:
            raise ValueError(f"every={self.every}: must be 1 or more turns")

    def init(self) -> Json:
        return {}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        scores = (self.score or score_for(self.plan))(population)
        trained = [slot for slot in ready if population[slot].last is not None]
        ripe = [slot for slot in trained if population[slot].failed or self._is_ripe(population[slot])]
        parents = self.exploit(population, scores, ripe, rng)
        if self.rescue:
            parents |= _rescued(population, scores, [slot for slot in ripe if slot not in parents], rng)
        explored = self.explore(movable(self.plan), population, parents, rng, state)
        return explored.memory, [self._order(population, slot, parents, explored, rng) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return ()

    def _is_ripe(self, member: Member) -> bool:
        return member.steps >= self.burn_in and member.turns % self.every == 0

    def _order(
        self, population: Population, slot: int, parents: Parents, explored: Explored, rng: np.random.Generator
    ) -> Order:
        member = population[slot]
        if slot in parents:
            parent = population[parents[slot]].latest
            assert parent is not None
            hparams = {**parent.order.hparams, **explored.children[slot]}
            event = "rescue" if member.failed else "inherit"
            return population.draft(slot, hparams, start=parent.ref, event=event, **explored.why.get(slot, {}))
        return continued_order(self.plan, population, slot, rng)


def movable(plan: Plan) -> Space:
    """The space without what is bound to the weights, which an heir takes over as it is."""
    return Space({name: param for name, param in plan.space.items() if name not in plan.architecture})


def fresh_order(plan: Plan, population: Population, slot: int, rng: np.random.Generator) -> Order:
    """An order for fresh weights; the first turn of the first members starts where the plan says."""
    first = plan.first[slot] if slot < len(plan.first) and population[slot].last is None else {}
    event = "init" if population[slot].last is None else "restart"
    return population.draft(slot, {**plan.space.first(rng), **first}, event=event)


def continued_order(plan: Plan, population: Population, slot: int, rng: np.random.Generator) -> Order:
    """An order to train on from the member's own state, also after one failure; after two, or without a state, from scratch."""
    member = population[slot]
    failures = [turn.failed for turn in islice(member.history(), 2)]
    if member.latest is None or failures == [True, True]:
        return fresh_order(plan, population, slot, rng)
    why = {"event": "retry"} if member.failed else {}
    return population.draft(slot, member.latest.order.hparams, start=member.latest.ref, **why)


def _rescued(population: Population, scores: Scores, slots: Sequence[int], rng: np.random.Generator) -> Parents:
    """A donor for each failed member among `slots`: one of the better half of the healthy members."""
    healthy = [slot for slot in ranked(scores) if is_number(scores[slot]) and population[slot].latest is not None]
    donors = healthy[: max(1, len(healthy) // 2)]
    return {slot: donors[rng.integers(len(donors))] for slot in slots if donors and population[slot].failed}
