"""Successive rungs: more candidates than slots train a little, the best of them train on, until each slot has one.

Each slot trains several candidates, one after another, and in the next rung fewer of them, so that no slot ever
idles: BG-PBT's 24 → 16 → 8 in 8 slots is three, two and one a slot (arXiv 2207.09405, section 3.2). A slot that needs a
candidate takes the best one that has finished the rung before and that nobody has taken. Where a slot stands follows from its
number of turns, so without a barrier nobody waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evolute.core.order import Order, Ref
from evolute.core.population import Population, Turn
from evolute.core.ranking import is_number, rank_key


class Rung(NamedTuple):
    """Each slot trains this many candidates, one after another, for `turns` turns each."""

    per_slot: int
    turns: int

    @property
    def length(self) -> int:
        """The turns that each slot spends on it."""
        return self.per_slot * self.turns


class Place(NamedTuple):
    """Where a slot stands: the rung, and how many turns of it the present candidate has behind it; 0 asks for the next one."""

    rung: int
    turn: int


@dataclass(frozen=True)
class Ladder:
    """The rungs, one after another; the place above them all is the population."""

    rungs: tuple[Rung, ...]

    @property
    def length(self) -> int:
        """The turns that each slot spends on it."""
        return sum(rung.length for rung in self.rungs)

    def place(self, age: int) -> Place:
        """Where a slot stands that has spent `age` turns since it stepped on the ladder."""
        for number, rung in enumerate(self.rungs):
            if age < rung.length:
                return Place(number, age % rung.turns)
            age -= rung.length
        return Place(len(self.rungs), age)

    def begins(self, number: int) -> int:
        """The age at which a slot reaches a rung."""
        return sum(rung.length for rung in self.rungs[:number])

    def ends(self, number: int) -> range:
        """The ages of the turns that are a candidate's last on a rung."""
        rung = self.rungs[number]
        return range(self.begins(number) + rung.turns - 1, self.begins(number) + rung.length, rung.turns)

    def last_choice(self, number: int) -> int:
        """The age at which a slot takes its last candidate for a rung, or for the place above them all."""
        return self.begins(number) + (self.rungs[number].length - self.rungs[number].turns if number < len(self.rungs) else 0)


@dataclass(frozen=True)
class Climb:
    """A population on a ladder: each slot stepped on it at its turn `first`; candidates that were `taken` are refs."""

    ladder: Ladder
    population: Population
    first: Sequence[int]
    taken: Sequence[Ref]

    def place(self, slot: int) -> Place | None:
        """Where a slot stands; None while it finishes what it did before."""
        age = self.population[slot].turns - self.first[slot]
        return self.ladder.place(age) if age >= 0 else None

    def has_left(self, slot: int) -> bool:
        """Whether a slot has been given its member, or never needed to choose one."""
        place = self.place(slot)
        return place is not None and place.rung == len(self.ladder.rungs) and (place.turn > 0 or not self.ladder.rungs)

    @property
    def over(self) -> bool:
        """Whether all slots have been given their members."""
        running = [member.running is not None for member in self.population.members]
        ages = (m.turns + runs - first for m, runs, first in zip(self.population.members, running, self.first, strict=True))
        return all(age > self.ladder.length or not self.ladder.rungs for age in ages)

    def finished(self, rung: int, others: Sequence[Turn] = ()) -> list[Turn]:
        """The candidates that ended a rung with a score and that nobody has taken, and `others`, best first.

        Ties go to the earlier turn, then the lower slot.
        """
        ends = self.ladder.ends(rung)
        turns = [turn for turn in self._turns() if turn.order.turn - self.first[turn.ref.member] in ends]
        free = (turn for turn in [*turns, *others] if turn.ref not in self.taken)
        scored = [turn for turn in free if not turn.failed and is_number(turn.score)]
        return sorted(scored, key=lambda turn: (rank_key(turn.score), turn.ref.turn, turn.ref.member))

    def chosen(self, slots: Sequence[int], rung: int, others: Sequence[Turn] = ()) -> dict[int, Turn]:
        """The best candidates for a rung, one for each of these slots; a slot that trained one of them keeps it."""
        free = self.finished(rung - 1, others)[: len(slots)] if slots else []
        chosen: dict[int, Turn] = {}
        for turn in list(free):
            if turn.ref.member in slots and turn.ref.member not in chosen:
                chosen[turn.ref.member] = turn
                free.remove(turn)
        return chosen | dict(zip([slot for slot in slots if slot not in chosen], free, strict=False))

    def retained(self, others: Sequence[Turn] = ()) -> list[Ref]:
        """The states that a slot may still be given, and those that a failed turn began with."""
        kept: list[Ref] = []
        for rung in range(len(self.ladder.rungs)):
            last = self.ladder.last_choice(rung + 1)
            if any(m.turns - first <= last for m, first in zip(self.population.members, self.first, strict=True)):
                kept += [turn.ref for turn in self.finished(rung, others if rung == len(self.ladder.rungs) - 1 else ())]
        return kept + [start for slot in range(len(self.population)) if (start := self._before_failure(slot)) is not None]

    def _before_failure(self, slot: int) -> Ref | None:
        """What a candidate in the middle of a rung goes back to."""
        place, last = self.place(slot), self.population[slot].last
        if place is None or place.turn == 0 or place.rung == len(self.ladder.rungs) or last is None or not last.failed:
            return None
        return last.order.start

    def _turns(self) -> Iterable[Turn]:
        """All turns since their slots stepped on the ladder."""
        for member, first in zip(self.population.members, self.first, strict=True):
            for turn in member.history():
                if turn.order.turn < first:
                    break
                yield turn


@dataclass(frozen=True)
class Orders:
    """What climbing slots do next: begin a fresh candidate, train the present one on, or take a finished one for a rung.

    `take` is given None where no candidate is left.
    """

    begin: Callable[[int], Order]
    resume: Callable[[int, Turn], Order]
    take: Callable[[int, Turn | None, int], Order]


def climbed(climb: Climb, ready: Sequence[int], orders: Orders, others: Sequence[Turn] = ()) -> tuple[list[Order], list[Ref]]:
    """Orders for the ready slots that are on the ladder, and the candidates that they take.

    `others` may be chosen besides the candidates when the ladder ends.
    """
    places = {slot: place for slot in ready if (place := climb.place(slot)) is not None and not climb.has_left(slot)}
    made = [orders.begin(slot) for slot, place in places.items() if place == (0, 0)]
    for slot, place in places.items():
        last = climb.population[slot].last
        if place.turn > 0:
            assert last is not None
            made.append(orders.resume(slot, last))
    taken: list[Ref] = []
    for rung in range(1, len(climb.ladder.rungs) + 1):
        slots = [slot for slot, place in places.items() if place == (rung, 0)]
        chosen = climb.chosen(slots, rung, others if rung == len(climb.ladder.rungs) else ())
        made += [orders.take(slot, chosen.get(slot), rung) for slot in slots]
        taken += [turn.ref for turn in chosen.values()]
    return made, taken
