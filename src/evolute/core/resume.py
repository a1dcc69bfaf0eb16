"""From a journal back to a running population: find what is durable, make the rest again, or rewind.

States are a cache of the journal. What is lost is made again by running its journalled order from the nearest durable
ancestors, and its digest must come out the same. Where a learner cannot repeat itself the run goes back to the newest
decision before which everything needed is durable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolute.core.order import Json, Order, Ref, Report
from evolute.core.population import Population
from evolute.core.protocols import Checkpoints, Engine
from evolute.core.watch import Notify, Progressed, Told


@dataclass(frozen=True)
class Decision:
    """One journalled decision: its orders, those of their reports that came in, and the strategy's state after it."""

    number: int
    orders: list[Order]
    reports: list[Report]
    state: Json


Needs = Callable[[Sequence[Decision], Population], set[Ref]]
"""The states that a run needs to go on after these decisions."""


class UnrepeatableError(RuntimeError):
    """A turn that was run again did not end in the state it ended in before."""


def replay(size: int, decisions: Sequence[Decision]) -> Population:
    """The population that these decisions have made."""
    population = Population.of(size)
    for decision in decisions:
        population = population.order(decision.orders).report(decision.reports)
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
            notify(Told(f"the checkpoint of {ref} is damaged ({wrong}); going back to the last good one", warning=True))
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


def remake(population: Population, waves: Sequence[Sequence[Order]], roots: set[Ref], engine: Engine, notify: Notify) -> None:
    """Run journalled orders again, wave by wave; raises UnrepeatableError at the first that comes out different."""
    total = sum(map(len, waves))
    done = 0
    for place, wave in enumerate(waves):
        engine.submit(wave)
        waiting = {order.ref for order in wave}
        while waiting:
            for report in engine.wait():
                waiting.discard(report.order.ref)
                done += 1
                _check_same(population, report)
                notify(Progressed([report.order.ref], done / total, f"making turn {done} of {total} again"))
        later = {ref for wave in waves[place + 1 :] for order in wave for ref in order.links}
        engine.keep(roots | later)


def _check_same(population: Population, report: Report) -> None:
    before = population.find(report.order.ref).report
    if report.failed:
        raise UnrepeatableError(f"the turn of {report.order.ref} was run again and failed: {report.reason}")
    if report.digest != before.digest:
        raise UnrepeatableError(f"the turn of {report.order.ref} was run again and ended in another state")


def rewound(size: int, decisions: Sequence[Decision], durable: set[Ref], needs: Needs) -> int:
    """How many decisions to keep so that everything still needed is durable; 0 is a fresh start."""
    stages = [Population.of(size)]
    for decision in decisions:
        stages.append(stages[-1].order(decision.orders).report(decision.reports))
    return max(count for count, stage in enumerate(stages) if needs(decisions[:count], stage) <= durable)
