"""A trainer in a child process, which is killed when a turn takes too long.

States stay here and travel with each order, so killing the child loses nothing. Messages are packed trees; only the
learner itself, which comes from this process, is pickled.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from typing import Protocol

import cloudpickle

from evolute.core.order import Order, Ref, Report
from evolute.core.protocols import EngineError, GuestError, LostError
from evolute.core.segment import Segment
from evolute.core.tree import Tree, pack, segments_in, unpack
from evolute.core.worker import Worker
from evolute.engines.links.wire import completed, without
from evolute.engines.trace import Trace, explain_to

STRIKES = 3
TICK = 0.1
START_LIMIT = 120.0


class CohortTrainer(Protocol):
    """What trains cohorts: a worker in this process, or one in a child process."""

    def groups(self, orders: Sequence[Order]) -> list[list[Order]]: ...
    def train(self, orders: Sequence[Order]) -> list[Report]: ...
    def keep(self, refs: set[Ref]) -> None: ...
    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]: ...
    def dump(self, ref: Ref) -> Tree: ...


@dataclass
class TrainerProcess:
    """Trains as `worker` does, but with its learner in a child process that can be killed."""

    worker: Worker
    limit: float
    _trees: dict[Ref, Tree] = field(default_factory=dict)
    _shared: list[Segment] = field(default_factory=list)
    """The segments of the last exchange, which the child holds on to as well."""
    _process: subprocess.Popen[bytes] | None = None
    _pipe: Connection | None = None
    _trace: Trace | None = None

    def groups(self, orders: Sequence[Order]) -> list[list[Order]]:
        return self.worker.groups(orders)

    def train(self, orders: Sequence[Order]) -> list[Report]:
        """One turn of one cohort. If the child has to be killed, or dies, its members are tried one by one."""
        started = time.monotonic()
        for strike in range(STRIKES):
            try:
                return self._exchange(orders)
            except TimeoutError as error:
                wrong, last = self._where(str(error), asked=True), True
            except (EOFError, ConnectionError):
                wrong, last = self._where(f"the worker process died ({self._end()})"), strike == STRIKES - 1
            self._kill()
            if len(orders) > 1:
                return [report for order in orders for report in self.train([order])]
            if last:
                break
        return [Report(orders[0], error=wrong, seconds=time.monotonic() - started)]

    def keep(self, refs: set[Ref]) -> None:
        self._trees = {ref: tree for ref, tree in self._trees.items() if ref in refs}

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        return {ref: self.worker.states.write(ref, self._tree(ref)) for ref in refs}

    def dump(self, ref: Ref) -> Tree:
        if ref not in self._trees:
            raise LostError(f"the state of {ref} is not in memory")
        return self._trees[ref]

    def close(self) -> None:
        self._kill()

    def _exchange(self, orders: Sequence[Order]) -> list[Report]:
        pipe = self._started()
        refs = sorted({ref for order in orders for ref in order.links})
        states = [[*ref, self._tree(ref)] for ref in refs]
        body = [[*order.ref, order.to_json()] for order in orders]
        _send(pipe, {"orders": body, "states": without(states, _digests(self._shared)), "guests": self._guests(orders)})
        self._shared = segments_in(states)
        answer = completed(self._answer(pipe, self.limit * len(orders)))
        self._shared += segments_in(answer["states"])
        for member, turn, tree in answer["states"]:
            self._trees[Ref(member, turn)] = tree
        return [
            Report.from_json(order, body, seconds=seconds)
            for order, (body, seconds) in zip(orders, answer["reports"], strict=True)
        ]

    def _answer(self, pipe: Connection, limit: float) -> Tree:
        """The child's answer; progress is passed on until it comes."""
        deadline = time.monotonic() + limit
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"TimeoutError: the turn took longer than its limit of {self.limit:g} s")
            if pipe.poll(min(left, TICK)):
                message = unpack(pipe.recv_bytes())[0]
                if "progress" not in message:
                    return message
                refs, share, note = message["progress"]
                self.worker.progress([Ref(*ref) for ref in refs], share, note)

    def _guests(self, orders: Sequence[Order]) -> list[tuple[str, Tree]]:
        """The guests that these orders name, besides bots, which the child knows itself."""
        found = []
        for name in dict.fromkeys(name for order in orders for name in order.named):
            with contextlib.suppress(GuestError):
                found.append((name, self.worker.states.guest(name)))
        return found

    def _tree(self, ref: Ref) -> Tree:
        if ref not in self._trees:
            self._trees[ref] = self.worker.states.read(ref)
        return self._trees[ref]

    def _started(self) -> Connection:
        if self._pipe is None:
            here, there = Pipe()
            self._trace = Trace()
            lent = [there.fileno(), self._trace.number]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "evolute.engines.trainer_process", *map(str, lent)],
                pass_fds=lent,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
                start_new_session=True,
            )
            there.close()
            self._pipe = here
            here.send_bytes(self._payload())
            self._answer(here, START_LIMIT)
        return self._pipe

    def _payload(self) -> bytes:
        try:
            return bytes(cloudpickle.dumps((self.worker.learner, self.worker.fixed, self.worker.score)))
        except Exception as error:
            self._kill()
            why = "turns with a time limit train in a child process, and this learner cannot be sent to one"
            raise EngineError(f"{why}: {error}") from error

    def _end(self) -> str:
        """How the child ended."""
        if self._process is None:
            return "it never started"
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "it closed its connection"

    def _where(self, reason: str, *, asked: bool = False) -> str:
        """Where the child was, as far as it can tell, and the reason why the turn failed."""
        if self._trace is None or self._process is None:
            return reason
        return "\n".join([*self._trace.lines(self._process.pid if asked else None), reason])

    def _kill(self) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            self._process.wait()
        if self._pipe is not None:
            self._pipe.close()
        if self._trace is not None:
            self._trace.close()
        self._process = self._pipe = self._trace = None
        self._shared = []


class NoStates:
    """The child's checkpoints: none, since all it needs travels with its orders."""

    def write(self, ref: Ref, tree: Tree) -> int:
        raise LostError(f"the state of {ref} cannot be made durable here")

    def read(self, ref: Ref) -> Tree:
        raise LostError(f"the state of {ref} did not come with its order")

    def guest(self, name: str) -> Tree:
        raise GuestError(f"the guest {name} did not come with its order")


def serve(pipe: Connection) -> None:
    """In the child: receive the learner, then train cohorts until the pipe closes."""
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        learner, fixed, score = cloudpickle.loads(pipe.recv_bytes())
        worker = Worker(learner, NoStates(), fixed, score, lambda refs, share, note: _send_progress(pipe, refs, share, note))
        _send(pipe, {"ready": True})
        shared: list[Segment] = []
        while True:
            message = completed(unpack(pipe.recv_bytes())[0])
            shared = segments_in(message["states"])
            answer = _turn(worker, message)
            _send(pipe, without(answer, _digests(shared)))
            shared += segments_in(answer["states"])


def _leave_with_parent(parent: int) -> None:
    """End with the parent, even in the middle of a turn: a killed leader leaves no orphan behind."""
    while os.getppid() == parent:
        time.sleep(TICK)
    os._exit(1)


def _turn(worker: Worker, message: Tree) -> Tree:
    for member, turn, tree in message["states"]:
        worker.adopt(Ref(member, turn), tree)
    for name, tree in message["guests"]:
        worker.welcome(name, tree)
    reports = worker.train([Order.from_json(*order) for order in message["orders"]])
    states = [[*report.order.ref, worker.dump(report.order.ref)] for report in reports if not report.failed]
    worker.keep(set())
    return {"reports": [[report.to_json(), report.seconds] for report in reports], "states": states}


def _digests(segments: Iterable[Segment]) -> list[str]:
    return [segment.digest for segment in segments]


def _send_progress(pipe: Connection, refs: list[Ref], share: float, note: str) -> None:
    _send(pipe, {"progress": [[list(ref) for ref in refs], float(share), note]})


def _send(pipe: Connection, message: Tree) -> None:
    pipe.send_bytes(b"".join(pack(message)))


if __name__ == "__main__":
    explain_to(int(sys.argv[2]))
    serve(Connection(int(sys.argv[1])))
