"""Iterated PBT (arXiv 2511.09190): when a population stops improving, it starts again, and evolves half as often.

Greedy selection after every turn prefers what pays at once, and how often to select is not known beforehand. So a run begins
greedily; once its best score no longer rises, all members start again from fresh weights, and the turns between two decisions
double. The paper keeps a little of the weights; here half of the members are taught by the best one so far, if the learner
takes teachers. The best state of all is kept, and comes back for the last turn if no later one is as good.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.param import FACTORS
from evolute.core.pareto import pareto_scores
from evolute.core.population import Population, Turn, descent
from evolute.core.protocols import Plan
from evolute.core.ranking import better, is_number, ranked, top
from evolute.strategies.evolution import Evolution, continued_order, movable
from evolute.strategies.exploit import truncation
from evolute.strategies.explore import perturb, perturbed
from evolute.strategies.generations import lesson
from evolute.strategies.score import Score, Scores
from evolute.strategies.stagnation import has_stopped

LEAST = 2
"""A new start must have room for this many of its periods."""


@dataclass(frozen=True)
class Restarts:
    """Evolves as `evolution` does, after every period, and starts again with a period of twice the turns."""

    evolution: Evolution
    turns: int
    every: int
    patience: int
    window: int
    teacher: bool

    @property
    def plan(self) -> Plan:
        return self.evolution.plan

    def init(self) -> Json:
        begun = {"first": [0] * self.plan.size, "every": self.every, "bests": [], "values": [], "teacher": None}
        return {**begun, "restarts": 0, "best": None, "returned": False, "evolution": self.evolution.init()}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        state = self._watched(state, population)
        if self._is_due(state, population):
            state = self._restarted(state, population, rng)
        made = {slot: order for slot in ready if (order := self._begun(state, population, slot)) is not None}
        state, back = self._returned(state, population, [slot for slot in ready if slot not in made])
        made |= back
        others = [slot for slot in ready if slot not in made]
        due = [slot for slot in others if population[slot].failed or self._age(state, population, slot) % state["every"] == 0]
        evolution = replace(self.evolution, score=_since(state["first"], several=bool(self.plan.objectives)))
        memory, evolved = evolution.step(state["evolution"], population, due, rng) if due else (state["evolution"], [])
        kept = [continued_order(self.plan, population, slot, rng) for slot in others if slot not in due]
        return {**state, "evolution": memory}, sorted([*made.values(), *evolved, *kept], key=lambda order: order.member)

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """The best state so far, and the teacher while somebody is taught."""
        return [Ref(*pair) for pair in (state["best"], state["teacher"]) if pair is not None]

    def _age(self, state: Json, population: Population, slot: int) -> int:
        """The turns of a slot since it last started again."""
        return population[slot].turns - int(state["first"][slot])

    def _watched(self, state: Json, population: Population) -> Json:
        """The state that knows the best of each period so far, and the best turn of all."""
        latest = _best(population, state["first"])
        if latest is None:
            return state
        ages = [max(0, self._age(state, population, slot)) for slot in range(len(population))]
        periods = sum(ages) // len(ages) // state["every"]
        bests = [*state["bests"], latest.score] if periods > len(state["bests"]) else state["bests"]
        teacher = state["teacher"] if min(ages) < state["every"] else None
        kept = None if state["best"] is None else population.find(Ref(*state["best"]))
        best = list(latest.ref) if kept is None or better(latest.score, kept.score) else state["best"]
        return {**state, "bests": bests, "teacher": teacher, "best": best}

    def _is_due(self, state: Json, population: Population) -> bool:
        """Whether to start again: the best of each period has stopped rising, and there is room."""
        begun = max(member.turns + (member.running is not None) for member in population.members)
        joined = all(self._age(state, population, slot) >= state["every"] for slot in range(len(population)))
        if not joined or self.turns - begun < LEAST * 2 * state["every"]:
            return False
        return has_stopped(state["bests"], patience=self.patience, window=self.window)

    def _restarted(self, state: Json, population: Population, rng: np.random.Generator) -> Json:
        """The state of a new start: which values each slot begins with, and who is taught by the best so far.

        Half of the values are drawn, the others are near those that the best one's line began with.
        """
        best = population.find(Ref(*state["best"]))
        *_, first = descent(best)
        space = movable(self.plan)
        bound = {name: best.order.hparams[name] for name in self.plan.architecture}
        values = []
        for slot in range(self.plan.size):
            near = perturbed(space, first.order.hparams, rng, resample=0.0)
            values.append({**(space.first(rng) if slot % 2 else near), **bound})
        return {
            **self.init(),
            "first": [member.turns + (member.running is not None) for member in population.members],
            "every": 2 * state["every"],
            "values": [{name: one[name] for name in self.plan.space} for one in values],
            "teacher": state["best"] if self.teacher and "teacher" in self.plan.links else None,
            "restarts": state["restarts"] + 1,
            "best": state["best"],
        }

    def _begun(self, state: Json, population: Population, slot: int) -> Order | None:
        """The order of a slot that starts again or is being taught; None if it evolves."""
        latest, age, every = population[slot].latest, self._age(state, population, slot), state["every"]
        if not state["restarts"]:
            return None
        own = latest if latest is not None and latest.order.turn >= state["first"][slot] else None
        if own is None:
            order = population.draft(slot, state["values"][slot], event="restart", restart=state["restarts"])
        elif age < every and not population[slot].failed:
            order = population.draft(slot, own.order.hparams, start=own.ref)
        else:
            return None
        taught = state["teacher"] is not None and slot % 4 < 2 and age < every
        return replace(order, teacher=Ref(*state["teacher"]), teacher_weight=lesson(age, every)) if taught else order

    def _returned(self, state: Json, population: Population, slots: Sequence[int]) -> tuple[Json, dict[int, Order]]:
        """For the last turn, the best state of all goes to the worst slot, unless a member of now is as good."""
        last = [slot for slot in slots if population[slot].turns == self.turns - 1]
        if not last or state["returned"] or state["best"] is None or not state["restarts"]:
            return state, {}
        best, now = population.find(Ref(*state["best"])), _best(population, state["first"])
        if now is not None and not better(best.score, now.score):
            return state, {}
        scores = _since(state["first"])(population)
        slot = last[ranked([scores[one] for one in last])[-1]]
        order = population.draft(slot, best.order.hparams, start=best.ref, event="return")
        return {**state, "returned": True}, {slot: order}


def _since(first: Sequence[int], *, several: bool = False) -> Score:
    """The scores of what members have trained since they last started again; with several objectives, by fronts."""

    def score(population: Population) -> Scores:
        latest = [None if member.failed else member.latest for member in population.members]
        turns = [
            turn if turn is not None and turn.order.turn >= begun else None for turn, begun in zip(latest, first, strict=True)
        ]
        if several:
            return pareto_scores([None if turn is None else turn.objectives or None for turn in turns])
        return [None if turn is None else turn.score for turn in turns]

    return score


def _best(population: Population, first: Sequence[int]) -> Turn | None:
    """The best latest turn of those since `first`."""
    scores = _since(first)(population)
    slot = top([slot for slot, score in enumerate(scores) if is_number(score)], scores.__getitem__)
    return None if slot is None else population[slot].latest


def ipbt(
    plan: Plan,
    *,
    every: int = 1,
    patience: int = 3,
    window: int = 15,
    teacher: bool = True,
    quantile: float = 0.25,
    resample: float = 0.25,
    factors: tuple[float, ...] = FACTORS,
    burn_in: int = 0,
) -> Restarts:
    """PBT that starts again when it stops improving.

    A run begins with a decision after every `every` turns. All members start again when the best score, smoothed, has not
    risen for `patience` periods, or in `window` periods by less than its noise; then `every` doubles. Half of the members are
    taught by the best one for a period, unless `teacher` is false. The other settings are those of `pbt`.
    """
    for name, value in {"every": every, "patience": patience, "window": window}.items():
        if value < 1:
            raise ValueError(f"{name}={value}: must be 1 or more")
    if plan.turns is None:
        raise ValueError("a run that may start again needs an end; set stop.turns or stop.steps")
    evolution = Evolution(plan, truncation(quantile), perturb(resample, factors), burn_in=burn_in)
    return Restarts(evolution, plan.turns, every, patience, window, teacher)
