"""A store in memory, and a loop over it: a whole run in a fraction of a second, for checks and experiments."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolute.core.durability import Keeper
from evolute.core.loop import AllFailedError, Loop, Position, Setup
from evolute.core.order import Json, Order, Ref, Report
from evolute.core.population import Population
from evolute.core.protocols import Engine, GuestError, Learner, LostError, Plan, Strategy
from evolute.core.request import Answer
from evolute.core.stop import Stop
from evolute.core.tree import Tree, digest, pack, unpack
from evolute.core.worker import Worker


@dataclass
class MemoryJournal:
    """Keeps what a journal would write, as the text it would write."""

    lines: list[str] = field(default_factory=list)
    decisions: list[list[Order]] = field(default_factory=list)

    def decide(self, number: int, orders: Sequence[Order], state: Json, answers: Sequence[Answer] = ()) -> None:
        self.decisions.append(list(orders))
        self._put("decision", number, state)
        for answer in answers:
            self._put("request", answer.body, answer.refused)
        for order in sorted(orders, key=lambda order: order.ref):
            self._put("order", *order.ref, order.to_json())

    def record(self, reports: Sequence[Report], elapsed: float) -> None:
        for report in reports:
            self._put("report", *report.order.ref, {**report.to_json(), "error": report.reason})

    def note(self, kind: str, **body: Json) -> None:
        return

    def sync(self) -> None:
        return

    def _put(self, *line: Any) -> None:
        self.lines.append(json.dumps(line, allow_nan=False))


@dataclass
class MemoryStates:
    """Keeps states as bytes."""

    files: dict[Ref, bytes] = field(default_factory=dict)

    def write(self, ref: Ref, tree: Tree) -> int:
        self.files[ref] = b"".join(pack(tree))
        return len(self.files[ref])

    def guest(self, name: str) -> Tree:
        raise GuestError(f"no guest {name}")

    def read(self, ref: Ref) -> Tree:
        if ref not in self.files:
            raise LostError(f"no state of {ref}")
        return unpack(self.files[ref])[0]

    def refs(self) -> set[Ref]:
        return set(self.files)

    def remove(self, refs: Iterable[Ref]) -> None:
        for ref in refs:
            self.files.pop(ref, None)

    def verify(self, ref: Ref, mark: str | None) -> str | None:
        return None if digest(self.read(ref)) == mark else "another state"


@dataclass(frozen=True)
class Rehearsal:
    """What became of a run in memory."""

    population: Population
    journal: MemoryJournal
    states: MemoryStates


def rehearse(
    learner: Learner[Any],
    strategy: Strategy,
    plan: Plan,
    make_engine: Callable[[Worker], Engine],
    *,
    turns: int,
    seed: int = 0,
    barrier: bool = True,
) -> Rehearsal:
    """A whole run in memory, to its end or until all have failed; with the plan's objectives, or else by the score."""
    journal, states = MemoryJournal(), MemoryStates()
    engine = make_engine(Worker(learner, states, score=plan.objectives or "score"))
    plan = replace(plan, links=frozenset(learner.links))
    setup = Setup(plan, strategy, Stop(turns=turns), seed=seed, barrier=barrier)
    position = Position(Population.of(plan.size), strategy.init())
    loop = Loop(setup, position, engine, journal, Keeper(engine, journal, states))
    with contextlib.suppress(AllFailedError), contextlib.closing(engine):
        loop.run()
    return Rehearsal(loop.population, journal, states)
