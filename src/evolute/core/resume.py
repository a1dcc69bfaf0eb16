"""From a journal back to a running population: find what is durable, make the rest again, or rewind.

States are a cache of the journal. What is lost is made again by running its journalled order from the nearest durable
ancestors, and its digest must come out the same. Where a learner cannot repeat itself the run goes back to the newest
decision before which everything needed is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolute.core.events import Notice, Notify, Progressed
from evolute.core.order import Json, Order, Ref, Report
from evolute.core.population import Population
from evolute.core.protocols import Checkpoints, Engine

TRIES = 3
"""How often a turn that is made again may fail."""


@dataclass(frozen=True)
class Decision:
    """One journalled decision: its orders, those of their reports that came in, and the strategy's state after it."""

    number: int
    orders: list[Order]
    reports: list[Report]
    state: Json


Needs = Callable[[Sequence[Decision], Population], set[Ref]]
"""The states that a run needs to continue after these decisions."""


class UnrepeatableError(RuntimeError):
    """A turn that was run again did not end in the state it ended in before."""


class RemakeError(RuntimeError):
    """A turn that was run again failed, though it had gone well before."""


def replay(size: int, decisions: Sequence[Decision]) -> Population:
    """The population that these decisions have made."""
    population = Population.of(size)
    for decision in decisions:
        population = population.order(decision.orders).keeping(decision.state).report(decision.reports)
    return population


def sound(population: Population, refs: set[Ref], checkpoints: Checkpoints, notify: Notify) -> set[Ref]:
    """Those of the durable states whose bytes are whole and belong to this journal; the others are removed."""
    whole: set[Ref] = set()
    for ref in sorted(refs):
        wrong = _wrong(population, ref, checkpoints)
        if wrong is None:
            whole.add(ref)
            continue
        checkpoints.remove([ref])
        if wrong:
            notify(Notice(f"the checkpoint of {ref} is damaged ({wrong}); going back to the last good one", warning=True))
    return whole


def _wrong(population: Population, ref: Ref, checkpoints: Checkpoints) -> str | None:
    """What is wrong with a checkpoint; an empty text if the journal does not know of it, as after a lost write."""
    try:
        turn = population.find(ref)
    except (KeyError, IndexError):
        return ""
    return checkpoints.verify(ref, turn.report.digest)


def lost(population: Population, decisions: Sequence[Decision], roots: set[Ref], durable: set[Ref]) -> list[list[Order]]:
    """The orders to run again so that every root exists, in waves: those of one decision do not depend on each other."""
    needed: set[Ref] = set()
    stack = list(roots - durable)
    while stack:
        ref = stack.pop()
        if ref not in needed and ref not in durable:
            needed.add(ref)
            stack.extend(population.find(ref).order.links)
    waves = [[order for order in decision.orders if order.ref in needed] for decision in decisions] if needed else []
    return [wave for wave in waves if wave]


def remake(
    population: Population,
    waves: Sequence[Sequence[Order]],
    roots: set[Ref],
    engine: Engine,
    stash: Callable[[set[Ref]], None],
    notify: Notify,
) -> None:
    """Run journalled orders again, wave by wave; `stash` may make what is still needed durable on the way.

    Raises UnrepeatableError if one ends in another state, and RemakeError if one keeps failing; the engine is idle then.
    """
    total = sum(map(len, waves))
    done: set[Ref] = set()
    for place, wave in enumerate(waves):
        notify(Progressed([wave[0].ref], len(done) / total, f"making {total} lost turns again"))
        _remake(population, wave, engine)
        done.update(order.ref for order in wave)
        later = {ref for wave in waves[place + 1 :] for order in wave for ref in order.links}
        engine.keep(roots | later)
        stash(done & (roots | later))


def _remake(population: Population, wave: Sequence[Order], engine: Engine) -> None:
    """One wave; what fails is tried again, up to `TRIES` times."""
    orders = list(wave)
    for _ in range(TRIES):
        reports = _finished(engine, orders)
        for report in reports:
            before = population.find(report.order.ref).report
            if not report.failed and report.digest != before.digest:
                raise UnrepeatableError(f"the turn of {report.order.ref} was run again and ended in another state")
        orders = [report.order for report in reports if report.failed]
        if not orders:
            return
    failed = next(report for report in reports if report.failed)
    raise RemakeError(
        f"the turn of {failed.order.ref}, which went well before, failed when it was made again; nothing was changed.\n"
        f"{failed.error}"
    )


def _finished(engine: Engine, orders: Sequence[Order]) -> list[Report]:
    engine.submit(orders)
    reports: list[Report] = []
    while len(reports) < len(orders):
        reports += engine.wait()
    return reports


@dataclass(frozen=True)
class Rewind:
    """How far to go back: how many decisions to keep, and which of their reports are void, so that these orders run again."""

    decisions: int
    void: list[Ref]


def rewound(size: int, decisions: Sequence[Decision], durable: set[Ref], needs: Needs) -> Rewind:
    """The least that has to be forgotten so that everything still needed is durable; no decision at all is a fresh start."""
    stages = [Population.of(size)]
    linked: dict[Ref, int] = {}
    for decision in decisions:
        stages.append(stages[-1].order(decision.orders).keeping(decision.state).report(decision.reports))
        for order in decision.orders:
            for ref in order.links:
                linked.setdefault(ref, decision.number)
    for count in range(len(decisions), 0, -1):
        void = [ref for ref in _loose(stages[count]) if ref not in durable and linked.get(ref, count) >= count]
        if needs(decisions[:count], stages[count].without(void)) <= durable:
            return Rewind(count, void)
    return Rewind(0, [])


def _loose(population: Population) -> list[Ref]:
    """States that nothing was built on in their own slot: the order that made them could run again."""
    members = [member for member in population.members if member.running is None and not member.failed]
    return [member.last.ref for member in members if member.last is not None]
