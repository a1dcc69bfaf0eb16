"""The loop: who is ready, what shall they do, write it down, do it, write down what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from evolute.core.durability import Keeper
from evolute.core.interrupt import Interrupted, Interrupts
from evolute.core.order import Json, Order
from evolute.core.population import Member, Population
from evolute.core.protocols import Engine, Journal, Plan, Strategy
from evolute.core.rng import derive, stream
from evolute.core.stop import Stop
from evolute.core.watch import Decided, Notify, Reported, Told, silent


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


@dataclass
class Loop:
    """One run, from wherever `population` stands until `stop` says so.

    `decisions` counts the decisions so far and names each one's random stream; `elapsed` is the time that earlier
    sessions have used.
    """

    plan: Plan
    strategy: Strategy
    engine: Engine
    journal: Journal
    keeper: Keeper
    stop: Stop
    population: Population
    state: Json
    seed: int = 0
    barrier: bool = True
    keeps_own: bool = False
    decisions: int = 0
    elapsed: float = 0.0
    notify: Notify = silent
    interrupts: Interrupts = field(default_factory=Interrupts)

    def run(self) -> str:
        """Train until the end and return its reason. When it is interrupted, what had finished is durable."""
        started = self.engine.now() - self.elapsed
        try:
            while True:
                self.elapsed = self.engine.now() - started
                reason = self.stop.reached(self.population, self.elapsed)
                if reason is None:
                    self._decide(self._ready())
                elif not self.population.running:
                    break
                self._train(started)
        except (Interrupted, AllFailedError):
            self._flush()
            raise
        self._flush()
        self.journal.end(reason)
        return reason

    def _ready(self) -> list[int]:
        """Members with no order running and turns left; with a barrier, nobody until that is everyone."""
        if self.barrier and self.population.running:
            return []
        return [m.slot for m in self.population.members if m.running is None and self.stop.open(m)]

    def _decide(self, ready: Sequence[int]) -> None:
        if not ready:
            return
        rng = stream(self.seed, "strategy", self.decisions)
        state, drafts = self.strategy.step(self.state, self.population, ready, rng)
        self._check(drafts, ready)
        orders = [self._stamp(order) for order in drafts]
        self.journal.decide(self.decisions, orders, state)
        self.state = state
        self.decisions += 1
        self.population = self.population.order(orders)
        self.notify(Decided(orders, self.population))
        self.engine.submit(orders)

    def _train(self, started: float) -> None:
        with self.interrupts.allowed():
            reports = self.engine.wait()
        reports.sort(key=lambda report: (report.order.turn, report.order.member))
        self.elapsed = self.engine.now() - started
        self.journal.record(reports, self.elapsed)
        self.population = self.population.report(reports)
        members = [self.population[report.order.member] for report in reports]
        self.keeper.see(member.last for member in members if member.last is not None)
        self.notify(Reported(reports, self.population, self.elapsed))
        if hopeless(self.population, barrier=self.barrier):
            first = self.population[0].last
            assert first is not None
            raise AllFailedError(f"all {len(self.population)} members failed, the first with:\n{first.report.error}")
        for report in reports:
            if report.failed:
                self.notify(
                    Told(f"member {report.order.member} failed turn {report.order.turn}: {report.reason}", warning=True)
                )
        self.keeper.tend(self.population, self.strategy.retain(self.state, self.population))

    def _flush(self) -> None:
        """Make everything that was finished durable."""
        retain = self.strategy.retain(self.state, self.population)
        self.keeper.save(self.population, self.keeper.roots(self.population, retain))

    def _stamp(self, order: Order) -> Order:
        member = self.population[order.member]
        steps = self.stop.allowed(member, order.steps or self.plan.interval)
        own = order.own
        if self.keeps_own and own is None and member.latest is not None and member.latest.ref != order.start:
            own = member.latest.ref
        seed = order.seed or derive(self.seed, "turn", order.member, order.turn)
        return replace(order, steps=steps, seed=seed, own=own)

    def _check(self, orders: Sequence[Order], ready: Sequence[int]) -> None:
        """A strategy may be anyone's: the laws are checked here, before anything is written."""
        if sorted(order.member for order in orders) != sorted(ready):
            raise ValueError(
                f"the strategy ordered members {sorted(order.member for order in orders)}, ready were {sorted(ready)}: "
                "it must give one order to each ready member"
            )
        for order in orders:
            if not self.plan.space.contains(order.hparams):
                raise ValueError(
                    f"the strategy ordered {dict(order.hparams)} for member {order.member}, which is not in the space "
                    f"{ {name: str(param) for name, param in self.plan.space.items()} }"
                )
            if order.turn != self.population[order.member].turns:
                raise ValueError(f"the strategy ordered turn {order.turn} of member {order.member} out of order")
            for ref in order.links:
                if self.population.find(ref).failed:
                    raise ValueError(f"the strategy ordered member {order.member} to use {ref}, a turn that failed")
