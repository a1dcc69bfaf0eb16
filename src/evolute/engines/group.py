"""A group of workers for anyone's use: processes, the ranks of an MPI job, or Ray actors, by one interface.

    with open_group(Counter, engine="processes", workers=4) as group:
        group.all("reset", 0)                          # on all of them
        first = group.any("square", 3)                 # on any that is free
        squares = group.map("square", range(100))      # each on any that is free, in order
        for place, value in group.gather("slow", jobs):
            ...                                        # results as they come
        for worker, value in group.stream("sample"):
            ...                                        # without end; each worker goes on when its value was taken

Arguments and results are trees, as states are: numpy arrays, numbers, text, None, in lists, tuples and dicts. Calls may be
made in the middle of a `gather` or `stream`: each answer goes to whoever asked, and so does each error.
"""

from __future__ import annotations

import contextlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from evolute.core.cores import cores
from evolute.core.protocols import Followed
from evolute.core.tree import Tree
from evolute.engines.links.link import Answered, Gone, Link, Make, Ready, WorkerContext

LEASE = 60.0
UNWELCOME = 3
"""How often in a row a worker may die in its greeting."""


class WorkerError(RuntimeError):
    """A call to a worker failed: the text is the traceback of its exception, or says how the worker died."""


@dataclass(eq=False)
class _Call:
    """A call that is at a worker until it is `over`."""

    worker: int
    aside: bool
    greeting: bool = False
    over: bool = False
    value: Tree = None
    error: str | None = None
    died: bool = False

    def end(self, value: Tree, error: str | None, *, died: bool = False) -> None:
        self.over, self.value, self.error, self.died = True, value, error, died


@dataclass(frozen=True, eq=False)
class _Job:
    """A call that is to be made, by one worker or by any; `place` tells whoever asked for it which one it is."""

    place: int
    arguments: tuple[Tree, ...]
    retries: int
    worker: int | None = None


@dataclass
class Group:
    """Workers with an object each. One call at a time is at a worker; the others wait for a free one."""

    link: Link
    _there: set[int] = field(default_factory=set)
    """The workers that can be called."""
    _known: set[int] = field(default_factory=set)
    """Those that were there at some time."""
    _calls: dict[int, _Call] = field(default_factory=dict)
    """All that are not over, by their tickets; somebody may have lost interest in them."""
    _greeting: tuple[str, tuple[Tree, ...]] | None = None
    _unwelcome: Counter[int] = field(default_factory=Counter)

    def __len__(self) -> int:
        return self.link.size

    def all(self, method: str, *arguments: Tree, aside: bool = False, retries: int = 0) -> list[Tree]:
        """Call a method of every worker's object with the same arguments; returns every worker's result.

        It waits for what a worker is doing. With `aside` it does not: it is called in another thread of the worker, and
        workers that are just being replaced are left out. What those need to know, `greet` tells them.
        """
        while aside and len(self._known) < len(self):
            self._take_events()
        workers = sorted(self._there) if aside else range(len(self))
        jobs = iter([_Job(worker, arguments, retries, worker) for worker in workers])
        results = dict(self._results(method, jobs, aside=aside))
        return [results[worker] for worker in workers if worker in results]

    def any(self, method: str, *arguments: Tree, retries: int = 0) -> Tree:
        """Call a method once, on a worker that is free; returns its result."""
        ((_, value),) = self._results(method, iter([_Job(0, arguments, retries)]))
        return value

    def map(self, method: str, *columns: Iterable[Tree], retries: int = 0) -> list[Tree]:
        """Call a method for each row of arguments, on any worker that is free; returns the results in order.

        A call whose worker dies is made again, up to `retries` times. An exception is raised at once: it would come again.
        """
        found = dict(self.gather(method, *columns, retries=retries))
        return [found[place] for place in range(len(found))]

    def gather(self, method: str, *columns: Iterable[Tree], retries: int = 0) -> Iterator[tuple[int, Tree]]:
        """As `map`, but gives each result with its place as soon as it is there. Columns are read as workers become free."""
        rows = enumerate(zip(*columns, strict=True))
        return self._results(method, (_Job(place, arguments, retries) for place, arguments in rows))

    def stream(self, method: str, *arguments: Tree, retries: int = 2) -> Iterator[tuple[int, Tree]]:
        """Call a method on every worker again and again; gives each result with its worker, without end.

        A worker is called again when its last result is handed out, so no more than one result of each ever waits. One that
        dies is replaced, unless it has died more than `retries` times without a result.
        """
        calls, deaths = dict[int, _Call](), Counter[int]()
        while True:
            calls.update({worker: self._post(worker, method, arguments) for worker in self._free() if worker not in calls})
            over = [worker for worker, call in calls.items() if call.over]
            if not over:
                self._take_events()
            for worker in over:
                call = calls.pop(worker)
                deaths[worker] = deaths[worker] + 1 if call.died else 0
                if 0 < deaths[worker] <= retries:
                    continue
                value = _value(call)
                if worker in self._free():
                    calls[worker] = self._post(worker, method, arguments)
                yield worker, value

    def greet(self, method: str, *arguments: Tree) -> None:
        """From now on a worker that has started, at first or instead of one that died, is called so before anything else."""
        self._greeting = (method, arguments)

    def close(self) -> None:
        """End all workers."""
        self.link.close()

    def _results(self, method: str, jobs: Iterator[_Job], *, aside: bool = False) -> Iterator[tuple[int, Tree]]:
        """Results with the places of their jobs, as they come; those that came together with an error are given first."""
        due, running = deque[_Job](), dict[_Call, _Job]()
        while True:
            for job, worker in self._assigned(due, jobs):
                running[self._post(worker, method, job.arguments, aside=aside)] = job
            if not running and not due:
                return
            over = [call for call in running if call.over]
            if not over:
                self._take_events()
            for call in sorted(over, key=lambda call: call.error is not None):
                job = running.pop(call)
                if call.died and job.retries:
                    due.append(replace(job, retries=job.retries - 1))
                elif not (call.died and aside):
                    yield job.place, _value(call)

    def _assigned(self, due: deque[_Job], jobs: Iterator[_Job]) -> list[tuple[_Job, int]]:
        """The jobs that can be done now, each with its worker; one that has to wait stays `due`, and no more are read."""
        free, held, assigned = deque(self._free()), list[_Job](), list[tuple[_Job, int]]()
        while (job := due.popleft() if due else next(jobs, None)) is not None:
            if job.worker is None and free:
                assigned.append((job, free.popleft()))
            elif job.worker is not None and job.worker in self._there:
                assigned.append((job, job.worker))
            else:
                held.append(job)
                if job.worker is None:
                    break
        due.extend(held)
        return assigned

    def _free(self) -> list[int]:
        """The workers that are there and idle."""
        return sorted(self._there - {call.worker for call in self._calls.values() if not call.aside})

    def _post(
        self, worker: int, method: str, arguments: tuple[Tree, ...], *, aside: bool = False, greeting: bool = False
    ) -> _Call:
        ticket = self.link.post(worker, "call", [method, arguments], concurrent=aside)
        self._calls[ticket] = call = _Call(worker, aside, greeting)
        return call

    def _take_events(self) -> None:
        """Wait until something has happened, and take all of it before anything is raised."""
        gone, failed = list[int](), list[_Call]()
        for event in self.link.poll():
            match event:
                case Ready(worker, _):
                    self._welcome(worker)
                case Answered(_, ticket, value, error) if ticket in self._calls:
                    call = self._calls.pop(ticket)
                    call.end(value, error)
                    failed += self._greeted(call)
                case Gone(worker, why):
                    gone.append(worker)
                    failed += self._died(worker, why)
        for worker in gone:
            self.link.replace(worker)
        for call in failed:
            raise WorkerError(f"worker {call.worker} failed in its greeting:\n{call.error}")

    def _welcome(self, worker: int) -> None:
        """A worker has started: it can be called, but is greeted first."""
        if self._greeting is not None:
            method, arguments = self._greeting
            self._post(worker, method, arguments, greeting=True)
            return
        self._there.add(worker)
        self._known.add(worker)

    def _greeted(self, call: _Call) -> list[_Call]:
        """If a call was a greeting its worker can be called now, or it is returned if it failed."""
        if not call.greeting:
            return []
        if call.error is not None:
            return [call]
        del self._unwelcome[call.worker]
        self._there.add(call.worker)
        self._known.add(call.worker)
        return []

    def _died(self, worker: int, why: str) -> list[_Call]:
        """End all calls of a worker that died; its greeting is returned if it has died in that too often."""
        self._there.discard(worker)
        tickets = [ticket for ticket, call in self._calls.items() if call.worker == worker]
        calls = [self._calls.pop(ticket) for ticket in tickets]
        for call in calls:
            call.end(None, f"worker {worker} died ({why}); another takes its place", died=True)
            self._unwelcome[worker] += call.greeting
        return [call for call in calls if call.greeting and self._unwelcome[worker] >= UNWELCOME]


def _value(call: _Call) -> Tree:
    if call.error is not None:
        raise WorkerError(call.error)
    return call.value


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
