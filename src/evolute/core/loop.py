"""The loop: ask the strategy for orders, journal them, train them, journal the reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from evolute.core.durability import Keeper
from evolute.core.events import Decided, Notice, Notify, Reported, silent
from evolute.core.interrupt import Interrupted, Interrupts
from evolute.core.order import Json, Order, Ref, Report
from evolute.core.plateau import Plateau
from evolute.core.population import Member, Population, Rating
from evolute.core.protocols import Completes, Engine, Journal, LinkError, Plan, Rates, Requests, Strategy
from evolute.core.rng import derive, stream
from evolute.core.steering import Steered, Steerer, Steering, clipped
from evolute.core.stop import Stop


class AllFailedError(RuntimeError):
    """Every member's last turn failed, so there is nobody to inherit from."""


def hopeless(population: Population, *, barrier: bool) -> bool:
    """Whether every member's last turn failed, and nobody's rescue is still under way.

    Without a barrier somebody always runs, so there the last two turns must have failed; and a single member with a
    state to go back to may fail once.
    """
    members = population.members
    if not all(member.failed for member in members) or (barrier and population.running):
        return False
    alone = len(members) == 1 and members[0].latest is not None
    return all(_failed_twice(m) for m in members if alone or m.running is not None)


def _failed_twice(member: Member) -> bool:
    return [turn.failed for turn in islice(member.history(), 2)] == [True, True]


@dataclass(frozen=True)
class Setup:
    """What stays the same while a run trains. With a `barrier` (sync) all members finish a turn before the next one.

    `make` builds the strategy for another plan, when bounds change; without it they cannot.
    """

    plan: Plan
    strategy: Strategy
    stop: Stop
    seed: int = 0
    barrier: bool = True
    make: Callable[[Plan], Strategy] | None = None

    def remade(self, plan: Plan) -> Setup:
        """The setup for another plan; raises ValueError if there can be none."""
        if self.make is None:
            raise ValueError("the bounds of this run cannot change")
        return replace(self, plan=plan, strategy=self.make(plan))

    def steered(self, steering: Steering) -> Setup:
        """The setup with the bounds that are in force."""
        return self.remade(steering.plan(self.plan)) if steering.bounds else self


@dataclass(frozen=True)
class Position:
    """How far a run has got. The number of decisions names the random stream of the next one; `elapsed` is in seconds."""

    population: Population
    state: Json
    decisions: int = 0
    elapsed: float = 0.0
    steering: Steering = field(default_factory=Steering)
    plateau: Plateau = field(default_factory=Plateau)


@dataclass(frozen=True)
class NoRequests:
    """Nobody steers."""

    def waiting(self) -> Sequence[tuple[str, Json]]:
        return ()

    def remove(self, names: Iterable[str]) -> None:
        return


@dataclass
class Loop:
    """One run, from its position until it stops."""

    setup: Setup
    position: Position
    engine: Engine
    journal: Journal
    keeper: Keeper
    notify: Notify = silent
    interrupts: Interrupts = field(default_factory=Interrupts)
    requests: Requests = NoRequests()

    def __post_init__(self) -> None:
        self.setup = self.setup.steered(self.position.steering)

    @property
    def population(self) -> Population:
        return self.position.population

    def run(self) -> str:
        """Train until the end and return its reason, which is for the caller to write down.

        Also when it is interrupted, what had finished is durable.
        """
        started = self.engine.now() - self.position.elapsed
        try:
            while True:
                reason = self.setup.stop.reached(self.population, self.engine.now() - started, self.position.plateau)
                if reason is None:
                    self._decide(self._ready())
                elif not self.population.running:
                    break
                self._train(started)
        except (Interrupted, AllFailedError):
            self._flush()
            raise
        self._flush()
        return reason

    def ratings(self) -> dict[Ref, Rating]:
        """The members' ratings now, if they are rated; at the end of a run there is no order to carry them."""
        strategy, population = self.setup.strategy, self.population
        if not isinstance(strategy, Rates):
            return {}
        ratings = strategy.ratings(self.position.state, population)
        return {turn.ref: ratings[turn.ref.member] for turn in population.latest if turn.ref.member in ratings}

    def _ready(self) -> list[int]:
        """Members with no order running and turns left; with a barrier, nobody until that is everyone."""
        if self.setup.barrier and self.population.running:
            return []
        return [m.slot for m in self.population.members if m.running is None and self.setup.stop.open(m)]

    def _decide(self, ready: Sequence[int]) -> None:
        if not ready:
            return
        number = self.position.decisions
        steered = self._steered(ready)
        state, drafts = self._asked([slot for slot in ready if slot not in steered.orders], steered.steering)
        drafts += self._completed(list(steered.orders.values()))
        share = self.setup.stop.share(self.population, len(drafts))
        orders = [self._stamp(order, share) for order in drafts]
        self.journal.decide(number, orders, state, steered.answers)
        population, steering = self.population.order(orders).keeping(state), steered.steering
        self.position = replace(self.position, population=population, state=state, decisions=number + 1, steering=steering)
        self.notify(Decided(orders, self.population))
        self.engine.submit(orders)
        if steered.answers:
            self.requests.remove([answer.name for answer in steered.answers])
            for answer in steered.answers:
                self.notify(Notice(f"steering: {answer}", warning=answer.refused is not None))

    def _steered(self, ready: Sequence[int]) -> Steered:
        """What the requests that wait come to; where bounds change, so do the plan and the strategy."""
        steering, waiting = self.position.steering, self.requests.waiting()
        if not waiting and not steering.pinned:
            return Steered(steering)
        steerer = Steerer(self.position.decisions, self.setup.plan, self.population, ready, self.setup.remade)
        steered = steerer.steered(steering, waiting)
        if steered.steering.bounds != steering.bounds:
            self.setup = self.setup.steered(steered.steering)
        return steered

    def _asked(self, ready: Sequence[int], steering: Steering) -> tuple[Json, list[Order]]:
        """The strategy's state and its orders for these members."""
        if not ready:
            return self.position.state, []
        rng = stream(self.setup.seed, "strategy", self.position.decisions)
        state, drafts = self.setup.strategy.step(self.position.state, self.population, ready, rng)
        if steering.bounds:
            drafts = [clipped(order, self.setup.plan.space) for order in drafts]
        self._check(drafts, ready)
        return state, drafts

    def _completed(self, orders: list[Order]) -> list[Order]:
        """Orders that the strategy did not give, with what it adds to all, such as opponents."""
        strategy = self.setup.strategy
        if not orders or not isinstance(strategy, Completes):
            return orders
        rng = stream(self.setup.seed, "steering", self.position.decisions)
        return strategy.completed(self.position.state, self.population, orders, rng)

    def _train(self, started: float) -> None:
        with self.interrupts.allowed():
            reports = self.engine.wait()
        reports.sort(key=lambda report: (report.order.turn, report.order.member))
        elapsed = self.engine.now() - started
        self.journal.record(reports, elapsed)
        population, plateau = self.population.report(reports), self._plateau(reports)
        self.position = replace(self.position, population=population, elapsed=elapsed, plateau=plateau)
        members = [self.population[report.order.member] for report in reports]
        self.keeper.see(member.last for member in members if member.last is not None)
        self.notify(Reported(reports, self.population, elapsed))
        if hopeless(self.population, barrier=self.setup.barrier):
            first = self.population[0].last
            assert first is not None
            raise AllFailedError(f"all {len(self.population)} members failed, the first with:\n{first.report.error}")
        for report in reports:
            if report.failed:
                text = f"member {report.order.member} failed turn {report.order.turn}: {report.reason}"
                self.notify(Notice(text, warning=True))
        for text in dict.fromkeys(f"turn {report.order.turn}: {one}" for report in reports for one in report.incidents):
            self.notify(Notice(text, warning=True))  # once for all members of a cohort
        self.keeper.tend(self.population, self._retained())

    def _plateau(self, reports: Sequence[Report]) -> Plateau:
        """How long ago the best score was found, with these reports, which the population does not have yet."""
        plateau, finished = self.position.plateau, sum(member.turns for member in self.population.members)
        for place, report in enumerate(reports):
            moment = self.position.decisions - 1 if self.setup.barrier else finished + place
            plateau = plateau.after(report.metrics.get("score"), moment)
        return plateau

    def _flush(self) -> None:
        """Make everything that was finished durable."""
        self.keeper.save(self.population, self.keeper.roots(self.population, self._retained()))

    def _retained(self) -> Iterable[Ref]:
        return self.setup.strategy.retain(self.position.state, self.population)

    def _stamp(self, order: Order, share: int | None) -> Order:
        member = self.population[order.member]
        steps = self.setup.stop.allowed(member, order.steps or self.setup.plan.interval, share)
        own = order.own
        if "own" in self.setup.plan.links and own is None and member.latest is not None and member.latest.ref != order.start:
            own = member.latest.ref
        others = order.others
        if "others" in self.setup.plan.links and not others:
            others = tuple(turn.ref for turn in self.population.latest if turn.ref.member != order.member)
        seed = order.seed or derive(self.setup.seed, "turn", order.member, order.turn)
        return replace(order, steps=steps, seed=seed, own=own, others=others)

    def _check(self, orders: Sequence[Order], ready: Sequence[int]) -> None:
        """A strategy may be anyone's: the laws are checked here, before anything is written."""
        if sorted(order.member for order in orders) != sorted(ready):
            raise ValueError(
                f"the strategy ordered members {sorted(order.member for order in orders)}, ready were {sorted(ready)}: "
                "it must give one order to each ready member"
            )
        for order in orders:
            if not self.setup.plan.space.contains(order.hparams):
                raise ValueError(
                    f"the strategy ordered {dict(order.hparams)} for member {order.member}, which is not in the space "
                    f"{ {name: str(param) for name, param in self.setup.plan.space.items()} }"
                )
            if order.turn != self.population[order.member].turns:
                raise ValueError(f"the strategy ordered turn {order.turn} of member {order.member} out of order")
            if unused := [name for name in order.link_names if name not in self.setup.plan.links]:
                raise LinkError(
                    f"the strategy gave member {order.member} {' and '.join(unused)} to learn from, and this learner uses "
                    f"{', '.join(sorted(self.setup.plan.links)) or 'none of these'}: choose another learner or strategy"
                )
            _check_weight(order)
            for ref in order.links:
                if self.population.find(ref).failed:
                    raise ValueError(f"the strategy ordered member {order.member} to use {ref}, a turn that failed")


def _check_weight(order: Order) -> None:
    """A weight without a teacher would be lost in the journal."""
    said = f"the strategy ordered teacher_weight={order.teacher_weight} for member {order.member}"
    if not all(0 <= weight <= 1 for weight in order.teacher_weight):
        raise ValueError(f"{said}: both lie in [0, 1]")
    if order.teacher is None and any(order.teacher_weight):
        raise ValueError(f"{said} without a teacher")
