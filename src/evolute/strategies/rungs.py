"""A start with more candidates than slots, on successive rungs, by default one: BG-PBT's three fresh members in each slot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Population, Turn
from evolute.strategies.evolution import Evolution, fresh_order
from evolute.strategies.ladder import Climb, Ladder, Orders, Rung, climbed


@dataclass(frozen=True)
class Rungs:
    """A strategy that chooses its members on rungs of (candidates, turns), and then leaves them to `evolution`."""

    evolution: Evolution
    rungs: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        size = self.evolution.plan.size
        counts = [candidates for candidates, _ in self.rungs]
        said = f"candidates={_shown(counts)}"
        if not counts or min(counts) < size:
            raise ValueError(f"{said}: must be at least the population's {size}, since the best continue")
        if counts != sorted(counts, reverse=True):
            raise ValueError(f"{said}: each rung must have at most as many as the one before, whose best continue")

    @property
    def ladder(self) -> Ladder:
        """The rungs as slots climb them: none if there is nothing to choose, and at most half of the run."""
        size, turns = self.evolution.plan.size, self.evolution.plan.turns
        rungs = [Rung(math.ceil(candidates / size), trained) for candidates, trained in self.rungs]
        while turns is not None and sum(rung.length for rung in rungs) > turns // 2 and rungs[0].per_slot > 1:
            most = rungs[0].per_slot
            place = max(place for place, rung in enumerate(rungs) if rung.per_slot == most)
            rungs[place] = rungs[place]._replace(per_slot=most - 1)
        return Ladder(tuple(rungs) if rungs[0].per_slot > 1 else ())

    def advice(self) -> list[str]:
        """Where other numbers of candidates start than were asked for."""
        size = self.evolution.plan.size
        asked = [candidates for candidates, _ in self.rungs]
        whole = [math.ceil(candidates / size) * size for candidates in asked]
        begun = [rung.per_slot * size for rung in self.ladder.rungs] or [size]
        said = f"candidates={_shown(asked)}: "
        rounded = [f"{said}every slot trains as many as the others, so there are {_shown(whole)}"] if whole != asked else []
        cut = whole[0] > size and begun != whole
        turns = self.evolution.plan.turns
        half = [f"{said}rungs may take half of the run's {turns} turns at most, so there are {_shown(begun)}"] if cut else []
        return half or rounded

    def init(self) -> Json:
        return {"taken": [], "evolution": self.evolution.init()}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        climb = self.climb(state, population)
        orders, taken = climbed(climb, ready, self.orders(population, rng))
        climbing = {order.member for order in orders}
        others = [slot for slot in ready if slot not in climbing]
        memory, evolved = self.evolution.step(state["evolution"], population, others, rng)
        after = {"taken": [*state["taken"], *map(list, taken)], "evolution": memory}
        return after, sorted([*orders, *evolved], key=lambda order: order.member)

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """The candidates that nobody has taken, while there are slots that have not chosen yet."""
        return self.climb(state, population).retained()

    def climb(self, state: Json, population: Population) -> Climb:
        """How far the start has got."""
        return Climb(self.ladder, population, [0] * len(population), [Ref(*pair) for pair in state["taken"]])

    def orders(self, population: Population, rng: np.random.Generator) -> Orders:
        """What slots do while they choose: all candidates are fresh."""
        plan = self.evolution.plan

        def resume(slot: int, last: Turn) -> Order:
            start, why = (last.order.start, {"event": "retry"}) if last.failed else (last.ref, {})
            return population.draft(slot, last.order.hparams, start=start, **why)

        def take(slot: int, turn: Turn | None, rung: int) -> Order:
            if turn is None:
                return fresh_order(plan, population, slot, rng)
            return population.draft(slot, turn.order.hparams, start=turn.ref, event="chosen")

        return Orders(lambda slot: fresh_order(plan, population, slot, rng), resume, take)


def _shown(counts: list[int]) -> str:
    return str(counts[0] if len(counts) == 1 else counts)
