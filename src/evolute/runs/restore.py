"""Continues a run from its journal: checks what is durable, makes the rest again, or rewinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evolute.core.durability import Keeper, reachable
from evolute.core.events import Event, Notice, Notify
from evolute.core.loop import Position, Setup, hopeless
from evolute.core.order import Json, Ref
from evolute.core.plateau import Plateau
from evolute.core.population import Population
from evolute.core.protocols import Engine
from evolute.core.resume import Decision, UnrepeatableError, lost, remake, replay, rewound, sound
from evolute.core.steering import Steering
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal
from evolute.store.requests import RequestFolder


@dataclass
class Restorer:
    """What it takes to resume a run."""

    setup: Setup
    journal: Journal
    checkpoints: Checkpoints
    engine: Engine
    keeper: Keeper
    notify: Notify
    requests: RequestFolder

    def restore(self, *, repeatable: bool) -> Position:
        """How far the run has got, with every state that it needs at hand and its running orders submitted."""
        self.setup = self.setup.steered(Steering.of(self.journal.answers()))
        decisions = self._retried(self.journal.decisions())
        population = replay(self._size, decisions)
        durable = sound(population, self.checkpoints.refs(), self.checkpoints, self._announce)
        self.keeper.resume(population, durable, remakeable=repeatable)
        roots = self.keeper.roots(population, self.setup.strategy.retain(self._state(decisions), population))
        try:
            if roots - durable and not repeatable:
                raise UnrepeatableError("the learner does not promise to repeat itself")
            waves = lost(population, decisions, roots, durable)
            remake(population, waves, roots, self.engine, self.keeper.stash, self.notify)
        except UnrepeatableError as error:
            decisions, population = self._rewind(decisions, error)
        running = {order.ref for order in population.running}
        self.engine.submit([order for decision in decisions for order in decision.orders if order.ref in running])
        steering = Steering.of(self.journal.answers())
        plateau = Plateau.of(self.journal.scores(), barrier=self.setup.barrier)
        return Position(population, self._state(decisions), len(decisions), self.journal.elapsed, steering, plateau)

    @property
    def _size(self) -> int:
        return self.setup.plan.size

    def _retried(self, decisions: list[Decision]) -> list[Decision]:
        """If everybody had failed the run was stopped to be mended: their last orders are to run again."""
        population = replay(self._size, decisions)
        if not hopeless(population, barrier=self.setup.barrier):
            return decisions
        self._announce(Notice("every member had failed: running their last turn again"))
        idle = [member for member in population.members if member.running is None]
        self.journal.void([member.last.ref for member in idle if member.last is not None])
        return self.journal.decisions()

    def _rewind(self, decisions: list[Decision], error: UnrepeatableError) -> tuple[list[Decision], Population]:
        """Forget until everything needed is durable. Checkpoints go first: a kill in between loses nothing more."""
        rewind = rewound(self._size, decisions, self.keeper.durable, self._needs)
        gone = {order.ref for decision in decisions[rewind.decisions :] for order in decision.orders}
        self.checkpoints.remove(gone & self.keeper.durable)
        forgotten = [answer for answer in self.journal.answers() if answer.decision >= rewind.decisions]
        for answer in forgotten:
            self.requests.put(answer.body, answer.name)  # to be taken again
        self.journal.rewind(rewind.decisions, rewind.void)
        self.journal.put(unrepeatable=True)
        kept = self.journal.decisions()
        population = replay(self._size, kept)
        self.engine.keep(set())
        self.keeper.resume(population, self.keeper.durable - gone, remakeable=False)
        self.keeper.eager = True
        count = len(rewind.void) + sum(len(decision.reports) for decision in decisions[rewind.decisions :])
        where = "the last durable ones" if rewind.decisions else "the start"
        self._announce(Notice(f"{error}: went back by {count} turns to {where}; every turn is made durable now", warning=True))
        return kept, population

    def _needs(self, decisions: Sequence[Decision], population: Population) -> set[Ref]:
        return reachable(population, self.setup.strategy.retain(self._state(decisions), population))

    def _state(self, decisions: Sequence[Decision]) -> Json:
        return decisions[-1].state if decisions else self.setup.strategy.init()

    def _announce(self, event: Event) -> None:
        """Pass an event on to whoever watches, and note it in the journal."""
        self.notify(event)
        if isinstance(event, Notice):
            self.journal.note("restore", text=event.text)
