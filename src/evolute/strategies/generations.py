"""Generations (BG-PBT, arXiv 2207.09405, section 3.2): when a population stops improving, a new one with new architectures.

Its candidates start from fresh weights, are taught by the best member so far, and are thinned out on rungs until each slot has
one. The best of them and the teacher are the new population, and until it is complete the teacher counts among the best, so a
generation that fails or is cut short costs turns and never the best member. A student is taught less the older it gets,
whichever slot and rung it is in.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evolute.core.order import Hparams, Json, Order, Ref
from evolute.core.population import Population, Turn, descent
from evolute.core.protocols import Plan
from evolute.core.ranking import better, top
from evolute.core.space import Space
from evolute.strategies.bayes.architectures import Proposed, proposed_architectures, tried_so_far
from evolute.strategies.ladder import Climb, Ladder, Orders, Rung, climbed
from evolute.strategies.rungs import Rungs
from evolute.strategies.score import last_score

PER_SLOT = 3
"""Candidates of a new generation, for each slot."""
SPARE = 5
"""Turns that a new generation must have left to evolve in."""
FEWEST = 3
"""A student is taught for at least this many turns, one on each rung."""
LEAST_WEIGHT, FALLING = 0.05, 0.8
"""The teacher's weight falls from 1 to the least over this share of the turns in which a student is taught."""


@dataclass(frozen=True)
class When:
    """How many generations there may be, and when the next one is due: after so many turns without a new best, or in all."""

    generations: int
    patience: int
    longest: int
    taught: int


@dataclass(frozen=True)
class Generations:
    """A strategy that starts and evolves a population as `start` does, and founds new generations.

    `architectures` are how many different ones a generation tries. Without a teacher, students learn by themselves. With
    `backtrack`, heirs start from the best state that the generation ever had.
    """

    start: Rungs
    when: When
    architectures: int
    by_model: bool = True
    teacher: bool = True
    backtrack: bool = False

    @property
    def plan(self) -> Plan:
        return self.start.evolution.plan

    def init(self) -> Json:
        begun = [0] * self.plan.size
        return {**self.start.init(), "first": [begun], "evolving": None, "improved": None, "best": None, **_no_students()}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        state = self._watched(state, population)
        if self._is_due(state, population):
            state = self._founded(state, population, rng)
        waiting = [(hparams, why) for hparams, why in state["waiting"]]
        teacher = _found(population, state["teacher"])
        orders = self.start.orders(population, rng) if teacher is None else self._lessons(state, population, teacher, waiting)
        climb = self._climb(state, population)
        made, taken = climbed(climb, ready, orders, [] if teacher is None else [teacher])
        climbing = {order.member for order in made}
        others = [slot for slot in ready if slot not in climbing]
        memory, evolved = self.start.evolution.step(state["evolution"], population, others, rng)
        after = {
            **state,
            "taken": [*state["taken"], *map(list, taken)],
            "evolution": memory,
            "waiting": [*map(list, waiting)],
            "archive": [list(teacher.ref)] if teacher is not None and not self._complete(climb) else [],
        }
        if self.backtrack:
            evolved = [self._from_best(order, _found(population, state["best"])) for order in evolved]
        return after, sorted([*made, *evolved], key=lambda order: order.member)

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """The teacher while somebody is taught, candidates that may be chosen, and what heirs may go back to."""
        climb, teacher = self._climb(state, population), _found(population, state["teacher"])
        kept = climb.retained([] if teacher is None else [teacher])
        kept += [teacher.ref] if teacher is not None and not self._complete(climb) else []
        kept += [Ref(*pair) for pair in state.get("archive", ())]  # runs from before there was one have none
        return kept + ([Ref(*state["best"])] if self.backtrack and state["best"] is not None else [])

    def advice(self) -> list[str]:
        """What a new generation costs in turns, and how many can finish."""
        cost, turns, most, asked = ladder_of(self.when.taught).length, self.plan.turns, self._most(), self.when.generations
        done = "taught" if self.teacher else "trained"
        said = f"a new generation takes {cost} of the run's {turns} turns to be {done} and thinned out"
        if most == 0:
            end = "none can finish, so none is begun: raise stop.turns, or lower taught, patience or longest"
        else:
            number = f"{most} of {asked}" if most < asked else str(most)
            end = f"at most {number} {'generation' if asked == 1 else 'generations'} can finish"
            end += ", and no other is begun" if most < asked else ""
        return [*self.start.advice(), f"{said}; {end}"]

    @property
    def most_architectures(self) -> int:
        """How many different architectures a generation can have; 1 if they do not evolve."""
        space = Space({name: param for name, param in self.plan.space.items() if name in self.plan.architecture})
        return int(min(self.architectures, space.points))

    @property
    def most_students(self) -> int:
        """How many students a generation begins with."""
        return PER_SLOT * self.plan.size

    def _most(self) -> int:
        """How many generations can finish if none of them improves after its first turn."""
        assert self.plan.turns is not None
        cost, count, turn = ladder_of(self.when.taught).length, 0, self.start.ladder.length + 1
        while count < self.when.generations:
            turn += min(self.when.patience, self.when.longest)
            if self.plan.turns - turn < cost + SPARE:
                break
            count, turn = count + 1, turn + cost + 1
        return count

    def _climb(self, state: Json, population: Population) -> Climb:
        """How far the start, or the newest generation, has got."""
        if state["teacher"] is None:
            return self.start.climb(state, population)
        taken = [Ref(*pair) for pair in state["taken"]]
        return Climb(ladder_of(state["taught"]), population, state["first"][-1], taken)

    def _complete(self, climb: Climb) -> bool:
        """Whether all slots have trained their members."""
        return all(map(climb.has_left, range(self.plan.size)))

    def _watched(self, state: Json, population: Population) -> Json:
        """The state that knows the generation's best turn so far and since when there was none better."""
        if not self._climb(state, population).over:
            return state
        now = _rounds(population)
        state = state if state["evolving"] is not None else {**state, "evolving": now, "improved": now}
        best, latest = _found(population, state["best"]), _best_latest(population)
        if latest is not None and better(latest.score, None if best is None else best.score):
            state = {**state, "best": list(latest.ref), "improved": now}
        return state

    def _is_due(self, state: Json, population: Population) -> bool:
        """Whether a generation is to be founded: it may not begin if it cannot finish."""
        if state["evolving"] is None or len(state["first"]) > self.when.generations or _best_latest(population) is None:
            return False
        now = _rounds(population)
        if now - state["improved"] < self.when.patience and now - state["evolving"] < self.when.longest:
            return False
        assert self.plan.turns is not None
        return self.plan.turns - max(_begun(population)) >= ladder_of(self.when.taught).length + SPARE

    def _founded(self, state: Json, population: Population, rng: np.random.Generator) -> Json:
        """The state of a generation that begins: slots join it when their running turns are over."""
        names = [name for name in self.plan.space if name in self.plan.architecture]
        tried = tried_so_far(population, state["first"], names)
        space = Space({name: self.plan.space[name] for name in names})
        proposed = proposed_architectures(space, tried, self.architectures, rng, by_model=self.by_model)
        teacher, first = _best_latest(population), _begun(population)
        assert teacher is not None
        return {
            **self.init(),
            "evolution": {"since": first},
            "first": [*state["first"], first],
            "teacher": list(teacher.ref),
            "taught": self.when.taught,
            "waiting": candidates(self.plan, population, proposed, rng),
        }

    def _lessons(self, state: Json, population: Population, teacher: Turn, waiting: list[tuple[Hparams, Json]]) -> Orders:
        """What the slots of a new generation do; `waiting` are the candidates that nobody has begun."""
        ladder, generation = ladder_of(state["taught"]), len(state["first"]) - 1

        def taught(slot: int, hparams: Hparams, start: Ref | None, rung: int, **why: Json) -> Order:
            order = population.draft(slot, hparams, start=start, generation=generation, rung=rung, **why)
            if not self.teacher:
                return order
            age = 0 if start is None else sum(1 for _ in descent(population.find(start)))
            return replace(order, teacher=teacher.ref, teacher_weight=lesson(age, state["taught"]))

        def untaught(slot: int, turn: Turn, rung: int, **why: Json) -> Order:
            return population.draft(slot, turn.order.hparams, start=turn.ref, generation=generation, rung=rung, **why)

        def begin(slot: int) -> Order:
            hparams, why = waiting.pop(0)
            return taught(slot, hparams, None, 0, event="student", **why)

        def resume(slot: int, last: Turn) -> Order:
            rung = int(last.order.why["rung"])
            if self.teacher and last.order.teacher is None:
                own = population.find(last.order.start) if last.failed and last.order.start is not None else last
                return untaught(slot, own, rung)
            start, why = (last.order.start, {"event": "retry"}) if last.failed else (last.ref, {})
            return taught(slot, last.order.hparams, start, rung, **why)

        def take(slot: int, turn: Turn | None, rung: int) -> Order:
            if turn is None:
                return untaught(slot, teacher, rung, event="fallback")
            if rung == len(ladder.rungs):
                return untaught(slot, turn, rung, event="chosen")
            return taught(slot, turn.order.hparams, turn.ref, rung, event="promoted")

        return Orders(begin, resume, take)

    def _from_best(self, order: Order, best: Turn | None) -> Order:
        """An heir's order that starts from the generation's best state instead of its parent's."""
        if best is None or order.why.get("event") != "inherit" or order.start == best.ref:
            return order
        architecture = {name: value for name, value in best.order.hparams.items() if name in self.plan.architecture}
        return replace(order, start=best.ref, hparams={**order.hparams, **architecture}, why={**order.why, "backtrack": True})


def ladder_of(taught: int) -> Ladder:
    """The rungs of students that are taught for this many turns: three, two and one of them a slot."""
    short = max(1, taught // 4)
    return Ladder((Rung(PER_SLOT, short), Rung(PER_SLOT - 1, short), Rung(1, taught - 2 * short)))


def lesson(age: int, taught: int) -> tuple[float, float]:
    """How much the teacher counts at the start and the end of a turn of a student of this age, in turns."""
    first, last = (max(LEAST_WEIGHT, 1 - (1 - LEAST_WEIGHT) * turn / (FALLING * taught)) for turn in (age, age + 1))
    return first, last


def candidates(plan: Plan, population: Population, proposed: Sequence[Proposed], rng: np.random.Generator) -> list[Json]:
    """The students to be, equally many of each architecture: their hyper-parameters, and why.

    One with a random architecture gets random values; the others have a random member's.
    """
    count, members = PER_SLOT * plan.size, population.latest
    made: list[Json] = []
    for number in range(count):
        one = proposed[number * len(proposed) // count]
        drawn = plan.space.first(rng)
        other = members[rng.integers(len(members))].order.hparams
        values = drawn if one.by == "random" else {name: other[name] for name in plan.space}
        made.append([{**values, **one.architecture}, {"by": one.by, "architecture": one.architecture, **one.why}])
    return made


def taught_turns(turns: int) -> int:
    """How long students are taught in a run of this many turns, unless they are told otherwise: a fifth of it."""
    return max(FEWEST, math.ceil(0.2 * turns))


def _no_students() -> dict[str, Json]:
    return {"teacher": None, "taught": None, "waiting": [], "archive": []}


def _found(population: Population, pair: Sequence[int] | None) -> Turn | None:
    return None if pair is None else population.find(Ref(*pair))


def _best_latest(population: Population) -> Turn | None:
    scores = last_score(population)
    slot = top(range(len(scores)), scores.__getitem__)
    return None if slot is None else population[slot].latest


def _rounds(population: Population) -> int:
    """The turns that members have had on average: without a barrier their numbers differ."""
    return sum(member.turns for member in population.members) // len(population)


def _begun(population: Population) -> list[int]:
    """The number of each slot's next turn that has not begun yet."""
    return [member.turns + (member.running is not None) for member in population.members]
