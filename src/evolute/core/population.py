"""All orders and reports so far, folded into one immutable value.

Each finished turn points to the turn before it in its slot and to the turn whose state it continued, so history and
line of descent are walks along pointers, and folding a report costs the same however long the run is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from evolute.core.lineage import carried_score, line_steps, used_steps
from evolute.core.order import Hparams, Json, Order, Ref, Report
from evolute.core.pareto import front_places
from evolute.core.ranking import winner

Rating = Sequence[float]
"""A rating and its standard deviation."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Turn:
    """One finished training interval of one member.

    `score` is the report's, or that of the state it continued when no episode ended, or None; where members are rated it is
    the rating, and `deviation` how uncertain that is. `objectives` are carried on like the score. `steps` counts env steps
    along the line of descent. `jump` points some way back in the slot, so that an old turn is found in a few hops.
    """

    order: Order
    report: Report
    before: Turn | None
    parent: Turn | None
    score: float | None
    steps: int
    deviation: float | None = None
    jump: Turn | None = None
    objectives: tuple[float, ...] = ()

    @property
    def ref(self) -> Ref:
        return self.order.ref

    @property
    def failed(self) -> bool:
        return self.report.failed

    def __repr__(self) -> str:
        return f"Turn({self.order.member}, {self.order.turn}, score={self.score}, failed={self.failed})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Member:
    """A slot of the population: what it runs now, its last turn, its last turn that left a state, and the steps it used."""

    slot: int
    running: Order | None = None
    last: Turn | None = None
    latest: Turn | None = None
    steps: int = 0

    @property
    def turns(self) -> int:
        """How many turns this slot has finished, failed ones included; also the number of its next turn."""
        return 0 if self.last is None else self.last.order.turn + 1

    @property
    def failed(self) -> bool:
        return self.last is not None and self.last.failed

    def history(self) -> Iterator[Turn]:
        """The slot's finished turns, newest first."""
        turn = self.last
        while turn is not None:
            yield turn
            turn = turn.before

    def rated(self, rating: Rating | None) -> Member:
        """The member with a rating as its latest turn's score; a turn that others have followed is not rated again."""
        if rating is None or self.latest is None or self.latest is not self.last:
            return self
        turn = replace(self.latest, score=rating[0], deviation=rating[1])
        return replace(self, last=turn, latest=turn)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Population:
    """The members, as the journal so far has left them, and the older states that the strategy keeps among the best."""

    members: tuple[Member, ...]
    archive: tuple[Ref, ...] = ()

    @classmethod
    def of(cls, size: int) -> Population:
        return cls(tuple(Member(slot) for slot in range(size)))

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, slot: int) -> Member:
        return self.members[slot]

    @property
    def latest(self) -> list[Turn]:
        """The last turn of each member that left a state."""
        return [member.latest for member in self.members if member.latest is not None]

    @property
    def candidates(self) -> list[Turn]:
        """All that may be the best: the latest of each member, and what the strategy keeps besides."""
        latest = self.latest
        known = {turn.ref for turn in latest}
        return [*latest, *(self.find(ref) for ref in self.archive if ref not in known)]

    @property
    def running(self) -> list[Order]:
        return [member.running for member in self.members if member.running is not None]

    def find(self, ref: Ref) -> Turn:
        """The finished turn that made the state `ref`."""
        turn = self.members[ref.member].last
        while turn is not None and turn.order.turn > ref.turn:
            turn = turn.jump if turn.jump is not None and turn.jump.order.turn >= ref.turn else turn.before
        if turn is None or turn.order.turn != ref.turn:
            raise KeyError(f"no finished turn made the state of {ref}")
        return turn

    def draft(self, slot: int, hparams: Hparams, *, start: Ref | None = None, **why: Json) -> Order:
        """The next order of a member; the loop adds steps and seed."""
        return Order(slot, self.members[slot].turns, hparams, start=start, why=why)

    def rated(self, ratings: Mapping[int, Rating]) -> Population:
        """The population whose latest turns have these ratings, by slot, as their scores."""
        return replace(self, members=tuple(member.rated(ratings.get(member.slot)) for member in self.members))

    def order(self, orders: Iterable[Order]) -> Population:
        """The population in which these orders run; an order's reasons may rate what its member did last."""
        members = list(self.members)
        for order in orders:
            member = members[order.member].rated(order.why.get("rating"))
            members[order.member] = Member(member.slot, order, member.last, member.latest, member.steps)
        return replace(self, members=tuple(members))

    def keeping(self, state: Json) -> Population:
        """The population with the archive that a strategy's state names."""
        archive = archived(state)
        return self if archive == self.archive else replace(self, archive=archive)

    def report(self, reports: Iterable[Report]) -> Population:
        """The population in which these reports have come in."""
        members = list(self.members)
        for report in reports:
            members[report.order.member] = self._fold(members[report.order.member], report)
        return replace(self, members=tuple(members))

    def without(self, refs: Iterable[Ref]) -> Population:
        """The population in which the last reports of these members have not come in yet."""
        members = list(self.members)
        for ref in refs:
            member = members[ref.member]
            turn = member.last
            if turn is None or turn.ref != ref or member.running is not None:
                raise ValueError(f"{ref} is not the last thing that member did")
            before = Member(member.slot, None, turn.before)
            latest = next((earlier for earlier in before.history() if not earlier.failed), None)
            members[ref.member] = Member(member.slot, turn.order, turn.before, latest, member.steps - _used(turn.report))
        return replace(self, members=tuple(members))

    def _fold(self, member: Member, report: Report) -> Member:
        order = report.order
        parent = None if order.start is None else self.find(order.start)
        before = None if parent is None else parent.score
        score = carried_score(report.metrics.get("score"), failed=report.failed, parent=before)
        steps = line_steps(report.steps, None if parent is None else parent.steps)
        deviation = None if parent is None or score != parent.score else parent.deviation
        objectives = report.objectives or (() if parent is None or report.failed else parent.objectives)
        turn = Turn(order, report, member.last, parent, score, steps, deviation, _jump(member.last), objectives)
        latest = member.latest if report.failed else turn
        return Member(member.slot, None, turn, latest, member.steps + _used(report))


def _jump(before: Turn | None) -> Turn | None:
    """Where the turn after `before` points back to (Myers 1983, "An applicative random-access stack")."""
    if before is None or before.jump is None or before.jump.jump is None:
        return before
    one, two = before.jump.order.turn, before.jump.jump.order.turn
    return before.jump.jump if before.order.turn - one == one - two else before


def archived(state: Json) -> tuple[Ref, ...]:
    """What a strategy's state keeps as `archive`, perhaps in the state of a `strategy` that it wraps.

    A user's strategy may call something else its archive: only pairs of a member and a turn count.
    """
    while isinstance(state, Mapping) and "archive" not in state and "strategy" in state:
        state = state["strategy"]
    pairs = state.get("archive") if isinstance(state, Mapping) else None
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and [*map(type, pair)] == [int, int] for pair in pairs):
        return ()
    return tuple(Ref(*pair) for pair in pairs)


def _used(report: Report) -> int:
    return used_steps(report.order.steps, report.steps, failed=report.failed)


def descent(turn: Turn) -> Iterator[Turn]:
    """The line of descent: this turn, the one whose state it continued, and so on back to fresh weights."""
    ancestor: Turn | None = turn
    while ancestor is not None:
        yield ancestor
        ancestor = ancestor.parent


def best(population: Population, chosen: Ref | None = None) -> Turn | None:
    """The turn that was `chosen` after the run, or else the highest-scoring one; ties go to the lower slot."""
    return winner(population.candidates, lambda turn: turn.score, lambda turn: turn.ref == chosen)


def front(population: Population) -> list[Turn]:
    """Of a run with objectives, those that none dominates, by the first objective; of equals the first one alone."""
    turns = [turn for turn in population.candidates if turn.objectives]
    return [turns[place] for place in front_places([turn.objectives for turn in turns])]
