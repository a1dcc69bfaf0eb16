"""Which states are kept in memory, which become durable and when, and which durable ones may go.

A state is kept while an order can still reach it: every member's latest, what running orders link to, and what the
strategy retains. States are saved together, so that everything not durable can be made again from
the newest whole save.
"""

from __future__ import annotations

import time
from bisect import insort
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from evolute.core.events import Notify, Saved, silent
from evolute.core.order import Ref
from evolute.core.population import Population, Turn, best, descent
from evolute.core.protocols import Checkpoints, Engine, Journal
from evolute.core.ranking import is_number, rank_key

BUDGET = 0.01
"""The share of a run's time that saving may take when no rhythm is set."""


@dataclass(frozen=True)
class Keep:
    """Which durable states stay when nothing needs them any more.

    The newest `last` saves, the `best` states ever, the ancestors of the best (`lineage`), and every state whose
    turn is a multiple of `every`.
    """

    last: int = 2
    best: int = 1
    lineage: bool = False
    every: int = 0

    def __str__(self) -> str:
        """As a config writes it."""
        counted = [f"{word} {number}" for word, number in (("last", self.last), ("best", self.best)) if number]
        every = [f"every {self.every}"] if self.every else []
        return ", ".join([*counted, *(["lineage-of-best"] if self.lineage else []), *every])

    def most(self, size: int, turns: int, *, barrier: bool, retained: int = 0) -> int:
        """How many states can be durable at one time: what `show` multiplies by the largest state's size.

        In the middle of a turn a save holds latest states and what running orders started from; without a
        barrier also what heirs keep of their own. `retained` are those that the strategy keeps besides.
        """
        saved = (2 if barrier else 3) * size + self.best + retained
        archive = size * (turns // self.every + 1) if self.every else 0
        return saved * (self.last + 1) + archive + (turns if self.lineage else 0)


def reachable(population: Population, retain: Iterable[Ref] = ()) -> set[Ref]:
    """Every state that an order can still name or is using: latest ones, links of running orders, and `retain`."""
    refs = {member.latest.ref for member in population.members if member.latest is not None}
    for order in population.running:
        refs.update(order.links)
    return refs.union(retain)


@dataclass
class Keeper:
    """Tends the states of one run.

    `rhythm` is in turns of the population, None saves as often as the budget allows. `eager` saves each state as it
    comes, for learners that could not make it again.
    """

    engine: Engine
    journal: Journal
    checkpoints: Checkpoints
    keep: Keep = field(default_factory=Keep)
    rhythm: int | None = None
    eager: bool = False
    notify: Notify = silent
    durable: set[Ref] = field(default_factory=set)
    _saves: deque[set[Ref]] = field(default_factory=deque)
    _best: list[tuple[tuple[bool, float], Ref]] = field(default_factory=list)
    _archive: set[Ref] = field(default_factory=set)
    _fresh: set[Ref] = field(default_factory=set)
    _reports: int = 0
    _rounds: int = 0
    _saved_at: float = field(default_factory=time.perf_counter)
    _cost: float = BUDGET

    def resume(self, population: Population, durable: set[Ref], *, remakeable: bool) -> None:
        """Take up a population whose `durable` states are known to be whole; the others are lost if not `remakeable`."""
        self.durable = set(durable)
        self._best, self._archive = [], set()
        self._saves = deque([set(durable)])
        for member in population.members:
            self.see(turn for turn in member.history() if remakeable or turn.ref in durable)
        self._archive -= durable
        self._fresh.clear()
        self._reports = 0

    def see(self, turns: Iterable[Turn]) -> None:
        """Take note of finished turns."""
        for turn in turns:
            self._reports += 1
            if turn.failed:
                continue
            if self.eager:
                self._fresh.add(turn.ref)
            if is_number(turn.score):
                insort(self._best, (rank_key(turn.score), turn.ref))
                del self._best[self.keep.best :]
            if self.keep.every and turn.ref.turn % self.keep.every == 0:
                self._archive.add(turn.ref)

    def roots(self, population: Population, retain: Iterable[Ref] = ()) -> set[Ref]:
        """Every state that is to be kept: what an order can reach, the best ever, and what is to be archived."""
        return reachable(population, retain) | self._bests() | self._archive

    def tend(self, population: Population, retain: Iterable[Ref]) -> None:
        """Save if it is time to; forget what nobody can reach, once for as many reports as members."""
        full = self._reports >= len(population)
        self._rounds += full
        if not full and not self._fresh and not self._due():
            return
        roots = self.roots(population, retain)
        if self._due() or (full and self.eager):
            self.save(population, roots)
        else:
            self._write((self._fresh | self._archive) & roots)
        if full:
            self._reports = 0
            self.engine.keep(roots)

    def save(self, population: Population, roots: set[Ref]) -> None:
        """Make all of `roots` durable, as one save, then remove what is no longer to be kept."""
        started = time.perf_counter()
        self._write(roots)
        self._saves.append(set(roots))
        while len(self._saves) > self.keep.last:
            self._saves.popleft()
        kept = set().union(*self._saves) | self._bests() | self._lineage(population)
        self.journal.sync()  # what is removed now must not be missed if the machine crashes and loses its last writes
        if gone := {ref for ref in self.durable if ref not in kept and not self._archived(ref)}:
            self.checkpoints.remove(gone)
            self.durable -= gone
        self._saved_at = time.perf_counter()
        self._cost = self._saved_at - started
        self._rounds = 0

    def stash(self, refs: set[Ref]) -> None:
        """Make states durable that were made again, if the budget allows, so that a kill does not cost them a second time."""
        if not self._affordable():
            return
        started = time.perf_counter()
        self._write(refs)
        self._saved_at = time.perf_counter()
        self._cost = self._saved_at - started

    def _write(self, refs: set[Ref]) -> None:
        started = time.perf_counter()
        sizes = self.engine.save(sorted(refs - self.durable))
        self.durable |= refs
        self._archive -= refs
        self._fresh -= refs
        if sizes:
            self.notify(Saved(len(sizes), max(sizes.values()), time.perf_counter() - started))

    def _due(self) -> bool:
        if self.rhythm is not None:
            return self._rounds >= self.rhythm
        return self._affordable()

    def _affordable(self) -> bool:
        return time.perf_counter() - self._saved_at >= self._cost / BUDGET

    def _bests(self) -> set[Ref]:
        return {ref for _, ref in self._best}

    def _lineage(self, population: Population) -> set[Ref]:
        top = best(population) if self.keep.lineage else None
        return set() if top is None else {turn.ref for turn in descent(top)}

    def _archived(self, ref: Ref) -> bool:
        return bool(self.keep.every) and ref.turn % self.keep.every == 0
