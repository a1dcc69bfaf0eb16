"""What runs at a worker: it trains orders that come as messages, keeps the states, and gives them to other workers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from evolute.core.objective import Goal
from evolute.core.order import Hparams, Order, Ref
from evolute.core.protocols import Learner, LostError, States
from evolute.core.segment import all_held
from evolute.core.tree import Tree
from evolute.core.worker import Worker
from evolute.engines.links.link import WorkerContext
from evolute.engines.links.wire import completed, without
from evolute.engines.trainer_process import CohortTrainer, TrainerProcess

OFTEN = 0.1
"""Seconds between two progress messages."""


@dataclass(frozen=True)
class ServiceSpec:
    """How to build a worker service, in whatever process."""

    learner: Learner[Any]
    states: States
    fixed: Hparams
    score: Goal
    limit: float | None

    @classmethod
    def of(cls, worker: Worker, limit: float | None) -> ServiceSpec:
        """The spec of services that do what this worker would do."""
        return cls(worker.learner, worker.states, worker.fixed, worker.score, limit)

    def __call__(self, context: WorkerContext) -> WorkerService:
        reader = StateReader(context, self.states)
        worker = Worker(self.learner, reader, self.fixed, self.score, Progressing(context))
        return WorkerService(worker if self.limit is None else TrainerProcess(worker, self.limit), reader)


@dataclass
class StateReader:
    """Reads states: brought by an exchange, from another worker, or from a checkpoint. `lost` are those found nowhere."""

    context: WorkerContext
    states: States
    holders: dict[Ref, str] = field(default_factory=dict)
    brought: dict[Ref, Tree] = field(default_factory=dict)
    lost: list[Ref] = field(default_factory=list)

    def write(self, ref: Ref, tree: Tree) -> int:
        return self.states.write(ref, tree)

    def guest(self, name: str) -> Tree:
        return self.states.guest(name)

    def read(self, ref: Ref) -> Tree:
        if ref in self.brought:
            return self.brought.pop(ref)
        try:
            if ref in self.holders:
                here = all_held()  # held on to until the answer is complete
                return completed(self.context.ask(self.holders[ref], "give", [list(ref), [one.digest for one in here]]))
        except ConnectionError:
            pass  # it may have died a moment ago; the state may be durable all the same
        try:
            return self.states.read(ref)
        except LostError:
            self.lost.append(ref)
            raise


@dataclass
class Progressing:
    """Tells the leader how far a cohort is, but not too often."""

    context: WorkerContext
    _last: float = 0.0
    _note: str = ""

    def __call__(self, refs: list[Ref], share: float, note: str) -> None:
        if note == self._note and time.monotonic() - self._last < OFTEN:
            return
        self._last, self._note = time.monotonic(), note
        self.context.send_update([[list(ref) for ref in refs], float(share), note])


@dataclass
class WorkerService:
    """What the leader and other workers call at a worker; arguments and values are trees."""

    trainer: CohortTrainer
    reader: StateReader

    def train(self, task: Tree) -> Tree:
        """Train cohorts, one after the other; states not in `keep` are dropped first; `holders` have states that are needed.

        Returns for each cohort its reports, or the lost states that it needs.
        """
        if task["keep"] is not None:
            kept = {Ref(*ref) for ref in task["keep"]}
            self.trainer.keep(kept)
            self.reader.brought = {ref: tree for ref, tree in self.reader.brought.items() if ref in kept}
        self.reader.holders = {Ref(*ref): address for ref, address in task["holders"]}
        return [self._train([Order.from_json(*order) for order in orders]) for orders in task["cohorts"]]

    def save(self, refs: Tree) -> Tree:
        """Make those of these states durable that are here; returns their sizes."""
        sizes = []
        for ref in refs:
            try:
                sizes += [[*saved, size] for saved, size in self.trainer.save([Ref(*ref)]).items()]
            except LostError:
                continue
        return sizes

    def give(self, wanted: Tree) -> Tree:
        """A state that is here, for another worker, without the segments which that one has."""
        ref, known = wanted
        return without(self.trainer.dump(Ref(*ref)), known)

    def take(self, brought: Tree) -> None:
        """A state that an exchange has brought here."""
        ref, tree = brought
        self.reader.brought[Ref(*ref)] = tree

    def _train(self, orders: list[Order]) -> Tree:
        self.reader.lost.clear()
        try:
            return {"reports": [[report.to_json(), report.seconds] for report in self.trainer.train(orders)]}
        except LostError:
            if not self.reader.lost:
                raise
            return {"lost": [list(ref) for ref in self.reader.lost]}
