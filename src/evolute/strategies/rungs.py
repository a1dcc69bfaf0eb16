"""A start with more members than there are slots: each slot trains several fresh ones, a turn each, and the best continue.

This is a single rung, BG-PBT's 24 → 8: 8 slots with three fresh members each (arXiv 2207.09405, section 3.1). States that
may still be chosen are retained.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Population, Turn
from evolute.core.ranking import is_number, rank_key
from evolute.strategies.evolution import Evolution, fresh_order


@dataclass(frozen=True)
class Rungs:
    """A strategy that chooses its members among `candidates`, and then leaves them to `evolution`."""

    evolution: Evolution
    candidates: int

    def __post_init__(self) -> None:
        size = self.evolution.plan.size
        if self.candidates < size:
            raise ValueError(f"candidates={self.candidates}: must be at least the population's {size}, since the best continue")

    @property
    def fresh_per_slot(self) -> int:
        """How many fresh members each slot trains, one after another; with one there is nothing to choose."""
        count = math.ceil(self.candidates / self.evolution.plan.size)
        turns = self.evolution.plan.turns
        return count if turns is None else max(1, min(count, turns // 2))

    def init(self) -> Json:
        return {"taken": [], "evolution": self.evolution.init()}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        starting = [slot for slot in ready if population[slot].turns < self.fresh_per_slot]
        choosing = [slot for slot in ready if population[slot].turns == self.fresh_per_slot > 1]
        others = [slot for slot in ready if slot not in starting and slot not in choosing]
        chosen = self._chosen(state, population, choosing)
        orders = [fresh_order(self.evolution.plan, population, slot, rng) for slot in starting]
        orders += [self._chosen_order(population, slot, chosen.get(slot), rng) for slot in choosing]
        memory, evolved = self.evolution.step(state["evolution"], population, others, rng)
        taken = [*state["taken"], *(list(turn.ref) for turn in chosen.values())]
        return {"taken": taken, "evolution": memory}, sorted([*orders, *evolved], key=lambda order: order.member)

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """The candidates that nobody has taken, while there are slots that have not chosen yet."""
        if self.fresh_per_slot == 1 or all(member.turns > self.fresh_per_slot for member in population.members):
            return ()
        return [turn.ref for turn in self._best_first(population) if list(turn.ref) not in state["taken"]]

    def _chosen(self, state: Json, population: Population, slots: Sequence[int]) -> dict[int, Turn]:
        """The best candidates that nobody has taken, one for each slot; a slot that trained one of them keeps it."""
        free = [turn for turn in self._best_first(population) if list(turn.ref) not in state["taken"]][: len(slots)]
        chosen: dict[int, Turn] = {}
        for turn in list(free):
            if turn.ref.member in slots and turn.ref.member not in chosen:
                chosen[turn.ref.member] = turn
                free.remove(turn)
        return chosen | dict(zip([slot for slot in slots if slot not in chosen], free, strict=False))

    def _best_first(self, population: Population) -> list[Turn]:
        """The candidates that left a state with a score, best first; ties go to the earlier turn, then the lower slot."""
        candidates = (t for member in population.members for t in member.history() if t.order.turn < self.fresh_per_slot)
        scored = [turn for turn in candidates if not turn.failed and is_number(turn.score)]
        return sorted(scored, key=lambda turn: (rank_key(turn.score), turn.ref.turn, turn.ref.member))

    def _chosen_order(self, population: Population, slot: int, turn: Turn | None, rng: np.random.Generator) -> Order:
        if turn is None:
            return fresh_order(self.evolution.plan, population, slot, rng)
        return population.draft(slot, turn.order.hparams, start=turn.ref, event="chosen")
