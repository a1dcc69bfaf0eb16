"""A whole run through the real loop, worker and engine, with journal and checkpoints in memory."""

from __future__ import annotations

from evolute.core.durability import Keeper
from evolute.core.loop import Loop
from evolute.core.population import Population
from evolute.core.solo import adapt
from evolute.core.stop import Stop
from evolute.core.worker import Worker
from evolute.engines.inline import inline


class MemoryJournal:
    def __init__(self):
        self.decisions = []

    def decide(self, number, orders, state):
        self.decisions.append(orders)

    def record(self, reports, elapsed): ...
    def note(self, kind, **body): ...
    def end(self, reason): ...


class MemoryCheckpoints(dict):
    def write(self, ref, tree):
        self[ref] = tree
        return 1

    def read(self, ref):
        return self[ref]

    def remove(self, refs):
        for ref in refs:
            del self[ref]


def trained(learner, strategy, plan, *, turns, seed, fixed=None):
    """The population at the end of a run, and the orders of each of its decisions."""
    journal, checkpoints = MemoryJournal(), MemoryCheckpoints()
    engine = inline(Worker(adapt(learner), checkpoints, fixed or {}), None)
    keeper = Keeper(engine, checkpoints, rhythm=turns + 1)
    start = Population.of(plan.size)
    loop = Loop(plan, strategy, engine, journal, keeper, Stop(turns=turns), start, strategy.init(), seed=seed)
    loop.run()
    return loop.population, journal.decisions
