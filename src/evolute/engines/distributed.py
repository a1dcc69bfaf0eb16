"""The engine over several workers: who trains what, and what to do when a worker dies.

A member has a home, the worker that trains it. Only names of states come here; a worker that needs a state asks the one
that has it. A state lost with its worker is read from its checkpoint, or made again by the order that made it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from evolute.core.order import Order, Ref, Report
from evolute.core.protocols import EngineError
from evolute.core.resume import TRIES, RemakeError, UnrepeatableError
from evolute.core.tree import Tree
from evolute.core.worker import Worker
from evolute.engines.deaths import Deaths
from evolute.engines.links.link import Answered, Event, Gone, Late, Link, Ready, Update
from evolute.engines.state_locations import StateLocations

MOMENT = 0.02
"""Seconds of short cohorts that go to a worker together."""


@dataclass(eq=False)
class Task:
    """A cohort's orders, and the worker that they belong to.

    `mark` is the digest of a state that was lost and is made again, `failures` how often that failed; `missing` are lost
    states that it waits for. After its worker died a task is trained `alone`, and not before `due`.
    """

    orders: list[Order]
    home: int
    mark: str | None = None
    failures: int = 0
    missing: set[Ref] = field(default_factory=set)
    alone: bool = False
    due: float = 0.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks that a worker has, and since when."""

    worker: int
    tasks: list[Task]
    started: float


@dataclass
class DistributedEngine:
    """Workers behind a link. `worker` trains nothing here: it groups orders into cohorts and passes notices on."""

    link: Link
    worker: Worker
    states: StateLocations = field(default_factory=StateLocations)
    _queues: list[deque[Task]] = field(default_factory=list)
    _blocked: list[Task] = field(default_factory=list)
    _waiting: list[Task] = field(default_factory=list)
    _batches: dict[int, Batch] = field(default_factory=dict)
    _saving: dict[int, int] = field(default_factory=dict)
    _sizes: dict[Ref, int] = field(default_factory=dict)
    _free: dict[int, None] = field(default_factory=dict)
    _addresses: dict[int, str] = field(default_factory=dict)
    _reports: list[Report] = field(default_factory=list)
    _pace: float = 1.0
    _deaths: Deaths = field(default_factory=Deaths)
    _counted: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._queues = [deque() for _ in range(self.link.size)]

    def submit(self, orders: Sequence[Order]) -> None:
        homes: dict[int, list[Order]] = {}
        for order in orders:
            homes.setdefault(self.home(order), []).append(order)
        for home, share in homes.items():
            self._queues[home].extend(Task(cohort, home) for cohort in self.worker.groups(share))
        self._dispatch()

    def wait(self) -> list[Report]:
        while not self._reports and any(True for _ in self._tasks()):
            self._advance()
        reports, self._reports = self._reports, []
        return reports

    def keep(self, refs: set[Ref]) -> None:
        """Forget every state but these and those not yet reported; a worker hears of it with its next batch."""
        self.states.keep(refs | {report.order.ref for report in self._reports})

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        """Let workers save states that they hold; states lost with a worker are made again first."""
        left, self._sizes = set(refs), {}
        while left:
            if lost := [ref for ref in sorted(left) if self.states.holder(ref) is None]:
                for ref in lost:
                    self._remake(ref)
                self._advance()
                continue
            self._write(left)
            left -= self._sizes.keys()
        self.states.durable(self._sizes, (ref for task in self._tasks() for order in task.orders for ref in order.links))
        return self._sizes

    def now(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self.link.close()

    @property
    def idle(self) -> bool:
        """Whether all workers are ready, and none has anything to do."""
        return len(self._addresses) == self.link.size and not any(True for _ in self._tasks())

    def home(self, order: Order) -> int:
        """The worker that trains this member."""
        return order.member % self.link.size

    def _tasks(self) -> Iterator[Task]:
        """Everything that is not done."""
        for queue in self._queues:
            yield from queue
        for batch in self._batches.values():
            yield from batch.tasks
        yield from self._waiting
        yield from self._blocked

    def _advance(self) -> None:
        """Wait until something happens, and act on it."""
        self._dispatch()
        due = min((task.due for task in self._waiting), default=None)
        events = self.link.poll(None if due is None else max(0.0, due - time.monotonic()))
        self._count_survived()
        for event in events:
            self._take(event)
        self._dispatch()

    def _take(self, event: Event) -> None:
        match event:
            case Ready(worker, address):
                self._addresses[worker] = address
                self._free[worker] = None
            case Update(_, value):
                refs, share, note = value
                self.worker.progress([Ref(*ref) for ref in refs], share, note)
            case Answered(_, _, _, error) if error is not None:
                raise EngineError(f"a worker failed:\n{error}")
            case Answered(worker, ticket, value, _) if ticket in self._batches:
                self._free[worker] = None
                batch = self._batches.pop(ticket)
                self._deaths.survived += time.monotonic() - batch.started
                for task, result in zip(batch.tasks, value, strict=True):
                    self._finish(task, worker, result)
            case Answered(_, ticket, value, _) if ticket in self._saving:
                del self._saving[ticket]
                self._sizes.update({Ref(member, turn): size for member, turn, size in value})
            case Gone(worker, why):
                self._lose(worker, why)
            case Late(worker):
                self.worker.notify("late report", f"worker {worker} reported after it was replaced: its report was rejected")

    def _dispatch(self) -> None:
        """Give every free worker its next batch: its own tasks, or else those that others cannot do now."""
        self._count_survived()
        self._wake()
        for worker in list(self._free):
            queue = self._queues[worker] or self._elsewhere()
            if not queue:
                continue
            tasks = self._next(queue)
            del self._free[worker]
            ticket = self.link.post(worker, "train", self._message(worker, tasks))
            self._batches[ticket] = Batch(worker, tasks, time.monotonic())

    def _next(self, queue: deque[Task]) -> list[Task]:
        """The next batch of a queue: one task, or as many short ones as fit into a moment."""
        tasks = [queue.popleft()]
        if not tasks[0].alone:
            while queue and not queue[0].alone and len(tasks) < int(MOMENT / self._pace):
                tasks.append(queue.popleft())
        return tasks

    def _wake(self) -> None:
        """Queue the tasks whose wait is over."""
        if not self._waiting:
            return
        now = time.monotonic()
        for task in [task for task in self._waiting if task.due <= now]:
            self._waiting.remove(task)
            self._queues[task.home].appendleft(task)

    def _count_survived(self) -> None:
        """Count the seconds of workers that train nothing."""
        now = time.monotonic()
        self._deaths.survived += (self.link.size - len(self._batches)) * (now - self._counted)
        self._counted = now

    def _elsewhere(self) -> deque[Task]:
        """The tasks of a worker that is not ready; or, for learners that train members one by one, of the longest queue."""
        absent = [queue for home, queue in enumerate(self._queues) if home not in self._addresses and queue]
        if absent or self.worker.learner.together:
            return absent[0] if absent else deque()
        return max(self._queues, key=len)

    def _message(self, worker: int, tasks: list[Task]) -> Tree:
        """The message that asks a worker to train these tasks."""
        links = {ref for task in tasks for order in task.orders for ref in order.links}
        holders = [(ref, self.states.holder(ref)) for ref in links if worker not in self.states.held.get(ref, ())]
        keep = self.states.tidy(worker)
        return {
            "cohorts": [[[*order.ref, order.to_json()] for order in task.orders] for task in tasks],
            "holders": [[list(ref), self._addresses[holder]] for ref, holder in holders if holder is not None],
            "keep": None if keep is None else [list(ref) for ref in keep],
        }

    def _finish(self, task: Task, worker: int, result: Tree) -> None:
        if "lost" in result:
            self._block(task, [Ref(*ref) for ref in result["lost"]])
            return
        for order, (body, seconds) in zip(task.orders, result["reports"], strict=True):
            report = Report.from_json(order, body, seconds=seconds)
            self._pace = max(1e-6, 0.5 * (self._pace + seconds))
            self._deaths.acquit(order.ref)
            if not report.failed:
                self.states.note(worker, report)
            if task.mark is None:
                self._reports.append(report)
            else:
                self._made_again(task, report)

    def _made_again(self, task: Task, report: Report) -> None:
        """A state that was made again must equal the lost one; then the tasks that wait for it are queued."""
        ref = report.order.ref
        if report.failed:
            task.failures += 1
            if task.failures >= TRIES:
                raise RemakeError(f"{ref} was lost and cannot be made again: the turn failed.\n{report.error}")
            self._queues[task.home].appendleft(task)
            return
        if report.digest != task.mark:
            raise UnrepeatableError(f"the state of {ref} was lost with its worker, and made again it differs")
        for blocked in list(self._blocked):
            blocked.missing.discard(ref)
            if not blocked.missing:
                self._blocked.remove(blocked)
                self._queues[blocked.home].appendleft(blocked)

    def _block(self, task: Task, lost: list[Ref]) -> None:
        """A task that needs lost states waits until they are made again, or asks another worker that has them."""
        for ref in lost:
            self.states.silent(ref)
        task.missing = {ref for ref in lost if self.states.holder(ref) is None}
        if not task.missing:
            self._queues[task.home].appendleft(task)
            return
        self._blocked.append(task)
        for ref in sorted(task.missing):
            self._remake(ref)

    def _remake(self, ref: Ref) -> None:
        if any(task.mark is not None and task.orders[0].ref == ref for task in self._tasks()):
            return
        report = self.states.maker(ref)
        home = self.home(report.order)
        self._queues[home].appendleft(Task([report.order], home, report.digest))

    def _lose(self, worker: int, why: str) -> None:
        """A worker is gone: its batch is tried again, and another worker is started."""
        self.worker.notify("worker lost", f"worker {worker} died ({why}); starting another")
        self._free.pop(worker, None)
        self._addresses.pop(worker, None)
        self.states.lose(worker)
        self._saving = {ticket: saver for ticket, saver in self._saving.items() if saver != worker}
        ticket = next((ticket for ticket, batch in self._batches.items() if batch.worker == worker), None)
        if ticket is None:
            self._deaths.record((), 0.0)
        else:
            batch = self._batches.pop(ticket)
            refs = [order.ref for task in batch.tasks for order in task.orders]
            self._deaths.record(refs, time.monotonic() - batch.started)
            for task in reversed(batch.tasks):
                self._retry(task, why)
        self.link.replace(worker)

    def _retry(self, task: Task, why: str) -> None:
        """Try again, member by member, until it is clear who is to blame."""
        if len(task.orders) > 1:
            self._queues[task.home].extendleft(Task([order], task.home, alone=True) for order in reversed(task.orders))
            return
        ref, task.alone = task.orders[0].ref, True
        strikes = self._deaths.strikes(ref)
        if not self._deaths.guilty(ref):
            task.due = time.monotonic() + self._deaths.wait(ref)
            self._waiting.append(task)
            return
        self._deaths.convict(ref)
        if task.mark is not None:
            raise RemakeError(f"{ref} was lost and cannot be made again: {strikes} workers died while making it ({why})")
        self._reports.append(Report(task.orders[0], error=f"the worker died {strikes} times in this turn ({why})"))

    def _write(self, refs: set[Ref]) -> None:
        """Let the holders of these states save them; one that dies meanwhile saves nothing."""
        shares: dict[int, list[Ref]] = {}
        for ref in sorted(refs):
            if (holder := self.states.holder(ref)) is not None:
                shares.setdefault(holder, []).append(ref)
        for holder, share in shares.items():
            self._saving[self.link.post(holder, "save", [list(ref) for ref in share], concurrent=True)] = holder
        while self._saving:
            self._advance()
        for ref in refs - self._sizes.keys():
            self.states.silent(ref)
