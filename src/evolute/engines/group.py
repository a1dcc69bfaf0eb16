"""A group of workers for anyone's use: processes, the ranks of an MPI job, or Ray actors, by one interface.

    with open_group(Counter, engine="processes", workers=4) as group:
        group.all("reset", 0)                          # on all of them
        squares = group.map("square", range(100))      # each on any that is free
        for place, value in group.gather("slow", jobs):
            ...                                        # results as they come

Arguments and results are trees, as states are: numpy arrays, numbers, text, None, in lists, tuples and dicts.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from evolute.core.cores import cores
from evolute.core.protocols import Followed
from evolute.core.tree import Tree
from evolute.engines.links.link import Answered, Gone, Link, Make, Ready, WorkerContext

LEASE = 60.0


class WorkerError(RuntimeError):
    """A call to a worker failed: the text is the traceback of its exception, or says how the worker died."""


@dataclass
class Group:
    """Workers with an object each. One call at a time is at a worker; the others wait for a free one."""

    link: Link
    _free: set[int] = field(default_factory=set)
    _there: set[int] = field(default_factory=set)

    def __len__(self) -> int:
        return self.link.size

    def all(self, method: str, *arguments: Tree) -> list[Tree]:
        """Call a method of every worker's object with the same arguments; returns every worker's result."""
        while len(self._there) < self.link.size:
            self._poll({})
        tickets = {self.link.post(worker, "call", [method, arguments]): worker for worker in range(self.link.size)}
        results = dict(self._results(tickets))
        return [results[worker] for worker in range(self.link.size)]

    def map(self, method: str, *columns: Iterable[Tree]) -> list[Tree]:
        """Call a method for each row of arguments, on any worker that is free; returns the results in order."""
        found = dict(self.gather(method, *columns))
        return [found[place] for place in range(len(found))]

    def gather(self, method: str, *columns: Iterable[Tree]) -> Iterator[tuple[int, Tree]]:
        """As `map`, but gives each result with its place as soon as it is there."""
        waiting, tickets = deque(enumerate(zip(*columns, strict=True))), dict[int, int]()
        while waiting or tickets:
            while waiting and self._free:
                place, arguments = waiting.popleft()
                tickets[self.link.post(self._free.pop(), "call", [method, arguments])] = place
            yield from self._poll(tickets)

    def _results(self, tickets: dict[int, int]) -> Iterator[tuple[int, Tree]]:
        while tickets:
            yield from self._poll(tickets)

    def _poll(self, tickets: dict[int, int]) -> list[tuple[int, Tree]]:
        """The results that have come, by the value of their tickets."""
        results = []
        for event in self.link.poll():
            match event:
                case Ready(worker, _):
                    self._free.add(worker)
                    self._there.add(worker)
                case Gone(worker, why):
                    self.link.replace(worker)
                    self._there.discard(worker)
                    self._free.discard(worker)
                    raise WorkerError(f"worker {worker} died ({why}); starting another")
                case Answered(worker, ticket, value, error):
                    self._free.add(worker)
                    if error is not None:
                        raise WorkerError(error)
                    if ticket in tickets:
                        results.append((tickets.pop(ticket), value))
        return results


@dataclass(frozen=True)
class Methods:
    """Calls the methods of any object, which take several arguments."""

    target: Any

    def call(self, what: Tree) -> Tree:
        method, arguments = what
        return getattr(self.target, method)(*arguments)


@dataclass(frozen=True)
class MakeMethods:
    """Builds the object at a worker."""

    make: Callable[[], Any]

    def __call__(self, context: WorkerContext) -> Methods:
        return Methods(self.make())


@contextlib.contextmanager
def open_group(
    make: Callable[[], Any],
    *,
    engine: Literal["processes", "mpi", "ray"] = "processes",
    workers: int | None = None,
    address: str | None = None,
) -> Iterator[Group | None]:
    """Workers that each have an object that `make` made; they end with the block. `address` is that of a Ray cluster.

    Under MPI the ranks are the workers, and this is called on all of them: rank 0 gets the group, the others work for it
    and get None when it is done.
    """
    try:
        with _linked(engine, MakeMethods(make), workers, address) as link:
            yield Group(link)
    except Followed:
        yield None


@contextlib.contextmanager
def _linked(engine: str, make: Make, workers: int | None, address: str | None) -> Iterator[Link]:
    with contextlib.ExitStack() as stack:
        link: Link
        if engine == "processes":
            from evolute.engines.links.processes import ProcessLink

            link = ProcessLink(make, workers or len(cores()), LEASE)
        elif engine == "mpi":
            from evolute.engines.links.mpi import MpiLink, leading
            from evolute.engines.links.ranks import world

            stack.enter_context(leading(world(), lambda opening: make))({"group": True})
            link = MpiLink(world(), make, LEASE)
        elif engine == "ray":
            from evolute.engines.links.ray import RayLink
            from evolute.engines.links.ray_runtime import connected, fitting

            disconnect = connected(address, workers, 1.0)
            link = RayLink(make, workers or fitting(1.0, 0.0), LEASE, {"num_cpus": 1.0}, disconnect)
        else:
            raise ValueError(f"engine={engine!r}: a group can use processes, mpi or ray")
        yield stack.enter_context(contextlib.closing(link))
