"""Where the states of a run are: which workers hold them in memory, and how those that are not durable were made."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from evolute.core.order import Ref, Report
from evolute.core.protocols import LostError


@dataclass
class StateLocations:
    """A state that is known but held by nobody was lost with its worker. `made` has the reports of states not yet durable."""

    held: dict[Ref, list[int]] = field(default_factory=dict)
    made: dict[Ref, Report] = field(default_factory=dict)
    _untidy: set[int] = field(default_factory=set)

    def note(self, worker: int, report: Report) -> None:
        """A worker made a state, and holds those that it was made from."""
        for ref in report.order.links:
            if worker not in self.held.setdefault(ref, []):
                self.held[ref].append(worker)
        self.held[report.order.ref] = [worker]
        self.made.setdefault(report.order.ref, report)

    def holder(self, ref: Ref) -> int | None:
        """A worker that holds the state."""
        workers = self.held.get(ref)
        return workers[0] if workers else None

    def silent(self, ref: Ref) -> None:
        """The first holder of the state did not give it."""
        if self.held.get(ref):
            self.held[ref].pop(0)

    def keep(self, refs: set[Ref]) -> None:
        """Forget every state but these."""
        for ref in self.held.keys() - refs:
            self._untidy.update(self.held.pop(ref))

    def tidy(self, worker: int) -> list[Ref] | None:
        """All that a worker should hold, if it holds more."""
        if worker not in self._untidy:
            return None
        self._untidy.discard(worker)
        return [ref for ref, workers in self.held.items() if worker in workers]

    def lose(self, worker: int) -> None:
        """A worker is gone, with all it held."""
        self._untidy.discard(worker)
        for workers in self.held.values():
            if worker in workers:
                workers.remove(worker)

    def maker(self, ref: Ref) -> Report:
        """The report of a state that was lost, whose order makes it again."""
        if ref not in self.made:
            raise LostError(f"the state of {ref} is neither at a worker nor durable: resume the run to make it again")
        return self.made[ref]

    def durable(self, refs: Iterable[Ref], linked: Iterable[Ref]) -> None:
        """States are durable now. How others were made is forgotten unless what is not durable, or `linked`, needs it."""
        for ref in refs:
            self.made.pop(ref, None)
        stack, needed = [*self.held, *linked], set()
        while stack:
            ref = stack.pop()
            if ref in self.made and ref not in needed:
                needed.add(ref)
                stack.extend(self.made[ref].order.links)
        self.made = {ref: self.made[ref] for ref in needed}
