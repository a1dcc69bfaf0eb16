"""Actors: processes that step copies of an environment, each copy at its own pace.

They are started when they are first needed, and stay from turn to turn. One that dies, or takes too long for a step, is
replaced. Its copies are then brought back to where they were by doing again what they had done, so that nothing is lost but
time; or, if nobody needs the same episodes again, these end there, as if cut off by a time limit.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import selectors
import subprocess
import sys
import tempfile
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import reduction
from multiprocessing.connection import Connection, Pipe
from typing import Any

import cloudpickle
import gymnasium
import numpy as np

from evolute.core.rng import derive
from evolute.core.tree import pack
from evolute.envs.actor_process import CLOSE, FAILED, OPEN, OPENED, STEP, Layout, Opening
from evolute.envs.interface import HostEnv, Moved, Separable
from evolute.envs.pool import Arrivals

Array = np.ndarray[Any, Any]
STRIKES = 3
"""How often in succession a step may cost an actor its life before its row fails."""
GRACE = 120.0
"""Seconds that an actor may take to start, on top of the limit of a step."""


@dataclass
class Process:
    """An actor as seen from here, and the rows that it was asked to step, in this order."""

    handle: subprocess.Popen[bytes]
    pipe: Connection
    asked: deque[int] = field(default_factory=deque)
    heard: float = field(default_factory=time.monotonic)
    begun: bool = False
    """Whether it has opened its copies, so that nothing but steps keeps it busy."""

    def send(self, message: bytes) -> None:
        """Send what it takes; whether it is there shows when it is read from."""
        with contextlib.suppress(OSError):
            self.pipe.send_bytes(message)

    def fate(self) -> str:
        """How it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self.handle.wait(1)
            return f"signal {-code}" if code < 0 else f"exit code {code}"
        return "it closed its connection"

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.handle.pid, 9)
        self.handle.wait()
        self.pipe.close()


class Actors:
    """Up to `count` actors for copies of an environment; a step may take `limit` seconds.

    Another process that this is sent to has actors of its own.
    """

    def __init__(self, env: Separable, count: int, limit: float) -> None:
        self.env, self.count, self.limit = env, count, limit
        self.restarts = self.openings = 0
        self._fates = Counter[str]()
        """What became of actors that were replaced, since somebody asked."""
        try:
            self._payload = bytes(cloudpickle.dumps(env))
        except Exception as error:
            raise ValueError(f"{count} actors: this environment cannot be sent to other processes: {error}") from error
        self._processes: list[Process] = []
        self._end = weakref.finalize(self, _end_all, self._processes)

    def __reduce__(self) -> tuple[Callable[..., Actors], tuple[Separable, int, float]]:
        return Actors, (self.env, self.count, self.limit)

    def pool(self, seeds: Sequence[Sequence[int]], *, replay: bool) -> ActorPool:
        """Copies for several members, seeded for their first episodes; `replay` says what becomes of those of a lost actor."""
        return ActorPool(self, [int(seed) for member in seeds for seed in member], replay=replay)

    def process(self, number: int) -> Process:
        """The actor of this number, which is started if there is none."""
        while len(self._processes) <= number:
            self._processes.append(self._started())
        return self._processes[number]

    def replaced(self, number: int, fate: str) -> Process:
        """Another actor in the place of this one, whose `fate` is kept."""
        self._processes[number].end()
        self.restarts += 1
        self._fates[fate] += 1
        self._processes[number] = self._started()
        return self._processes[number]

    def incidents(self) -> tuple[str, ...]:
        """What became of actors that were replaced since the last call."""
        told = tuple(
            f"an actor {fate} and was replaced{f', {times} times' if times > 1 else ''}" for fate, times in self._fates.items()
        )
        self._fates.clear()
        return told

    def close(self) -> None:
        """End all actors."""
        _end_all(self._processes)

    def _started(self) -> Process:
        here, there = Pipe()
        handle = subprocess.Popen(
            [sys.executable, "-m", "evolute.envs.actor_process", str(there.fileno())],
            pass_fds=[there.fileno()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            start_new_session=True,
        )
        there.close()
        process = Process(handle, here)
        process.send(self._payload)
        return process


class ActorPool:
    """A Pool whose rows are spread over actors, each of which steps its own one after another."""

    def __init__(self, actors: Actors, seeds: Sequence[int], *, replay: bool) -> None:
        env = actors.env
        assert isinstance(env, HostEnv)
        self._actors, self._seeds, self._replay = actors, list(seeds), replay
        self.rows = len(seeds)
        self.failures: dict[int, Exception] = {}
        self._count = min(actors.count, self.rows)
        self._opening = actors.openings = actors.openings + 1
        self._layout = Layout(self.rows, _shapes(env))
        self._file = tempfile.TemporaryFile()  # noqa: SIM115
        self._file.truncate(self._layout.size)
        self._memory = mmap.mmap(self._file.fileno(), self._layout.size)
        self._shared = self._layout.arrays(self._memory)
        self._arrivals = Arrivals(self.rows, env.observation_space)
        self._sent: list[list[Any]] = [[] for _ in range(self.rows)]
        """What each row has done, if that may have to be done again."""
        self._between = np.ones(self.rows, bool)
        """Whether a row's next move starts an episode."""
        self._cut: set[int] = set()
        """Rows whose episode was lost while they waited for an action: their next move ends it."""
        self._strikes = np.zeros(self.rows, int)
        self._ready: list[int] = []
        self._selector = selectors.DefaultSelector()
        for number in range(self._count):
            self._open(number)
        self.send(np.arange(self.rows), np.zeros_like(self._shared["action"]))

    def send(self, rows: Array, actions: Any) -> None:
        asked: dict[int, list[int]] = {}
        for row, action in zip(rows.tolist(), actions, strict=True):
            self._shared["action"][row] = action
            if row in self.failures:
                self._ready.append(row)
            elif row in self._cut:
                self._cut.discard(row)
                self._end_episode(row)
            else:
                asked.setdefault(row % self._count, []).append(row)
        for number, its in asked.items():
            self._ask(number, its)

    def recv(self, least: int = 1, patience: float | None = None) -> Moved:
        deadline = None if patience is None else time.monotonic() + patience
        while len(self._ready) < least and self._moving:
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                break
            self._listen(left)
        self._listen(0.0)
        arrived, self._ready = self._ready, []
        return self._arrivals.moved(arrived)

    def close(self) -> None:
        """Close all copies; their actors stay."""
        self._selector.close()
        for number in range(self._count):
            process = self._actors.process(number)
            process.asked.clear()
            process.send(CLOSE)
        self._file.close()

    @property
    def _moving(self) -> int:
        return sum(len(self._actors.process(number).asked) for number in range(self._count))

    def _open(self, number: int) -> None:
        """Open an actor's copies, and bring those back to where they were that had moved."""
        process = self._actors.process(number)
        rows = range(number, self.rows, self._count)
        seeds, before = {row: self._seeds[row] for row in rows}, {row: self._sent[row] for row in rows}
        process.send(OPEN + b"".join(pack(Opening(self._opening, self._layout, seeds, before).to_tree())))
        with contextlib.suppress(OSError):
            reduction.send_handle(process.pipe, self._file.fileno(), process.handle.pid)
        process.heard, process.begun = time.monotonic(), False
        self._selector.register(process.pipe, selectors.EVENT_READ, number)

    def _ask(self, number: int, rows: Sequence[int]) -> None:
        process = self._actors.process(number)
        if not process.asked:
            process.heard = time.monotonic()
        process.asked.extend(rows)
        process.send(STEP + bytes(3) + np.array(rows, np.int32).tobytes())

    def _listen(self, wait: float | None) -> None:
        """Take in what actors have to say as soon as there is something, but wait at most so many seconds."""
        if (late := self._latest_answer()) is not None:
            left = max(0.0, late - time.monotonic())
            wait = left if wait is None else min(wait, left)
        for key, _ in self._selector.select(wait):
            self._read(key.data)
        self._replace_the_late()

    def _read(self, number: int) -> None:
        process = self._actors.process(number)
        try:
            while process.pipe.poll():
                self._take(process, process.pipe.recv_bytes())
        except (EOFError, OSError):
            self._lost(number, f"died ({process.fate()})")

    def _take(self, process: Process, message: bytes) -> None:
        opening, row = np.frombuffer(message, np.int32, 2, 4).tolist()
        process.heard, process.begun = time.monotonic(), opening == self._opening
        if opening != self._opening or message[:1] == OPENED:
            return  # a step may have been under way when the last turn ended
        process.asked.remove(row)
        self._strikes[row] = 0
        arrays = self._shared
        if message[:1] == FAILED:
            self._fail(row, message[12:].decode())
            return
        terminated, truncated = bool(arrays["terminated"][row]), bool(arrays["truncated"][row])
        if self._replay:
            self._sent[row].append(np.array(arrays["action"][row]))
        self._between[row] = terminated or truncated
        self._arrivals.put(row, arrays["obs"][row], float(arrays["reward"][row]), terminated, truncated)
        self._ready.append(row)

    def _lost(self, number: int, fate: str) -> None:
        """Replace an actor that is gone; the row that it was stepping is to blame if this happens again and again."""
        process = self._actors.process(number)
        self._selector.unregister(process.pipe)
        asked = list(process.asked)
        if asked:
            self._strikes[asked[0]] += 1
            if self._strikes[asked[0]] >= STRIKES:
                self._fail(
                    asked.pop(0), f"the environment cannot be stepped: its actor {fate}, {STRIKES} times in the same step"
                )
        self._actors.replaced(number, fate)
        again = asked if self._replay else self._cut_short(number, asked)
        self._open(number)
        if again:
            self._ask(number, again)

    def _cut_short(self, number: int, asked: Iterable[int]) -> list[int]:
        """End the episodes of a lost actor's rows where they are; those between two episodes are to be asked again."""
        asked = set(asked)
        again = []
        for row in range(number, self.rows, self._count):
            self._seeds[row] = derive(self._seeds[row], "again")
            if row in self.failures:
                continue
            if self._between[row]:
                again += [row] if row in asked else []
            elif row in asked:
                self._end_episode(row)
            else:
                self._cut.add(row)
        return again

    def _end_episode(self, row: int) -> None:
        self._between[row] = True
        self._arrivals.put(row, None, 0.0, terminated=False, truncated=True)
        self._ready.append(row)

    def _fail(self, row: int, why: str) -> None:
        self.failures[row] = RuntimeError(why)
        self._arrivals.put(row, None, float("nan"), terminated=False, truncated=False)
        self._ready.append(row)

    def _latest_answer(self) -> float | None:
        """When the first of the actors that were asked something will have taken too long."""
        busy = [process for process in map(self._actors.process, range(self._count)) if process.asked]
        return min((process.heard + self._limit(process) for process in busy), default=None)

    def _limit(self, process: Process) -> float:
        return self._actors.limit + (0.0 if process.begun else GRACE)

    def _replace_the_late(self) -> None:
        now = time.monotonic()
        for number in range(self._count):
            process = self._actors.process(number)
            if process.asked and now >= process.heard + self._limit(process):
                self._lost(number, f"was killed, since a step took longer than {self._actors.limit:g} s (actors.limit)")


def _shapes(env: HostEnv) -> Mapping[str, tuple[tuple[int, ...], str]]:
    space, action = env.observation_space, env.action_space
    kind = np.float32 if isinstance(action, gymnasium.spaces.Box) else np.int32
    return {
        "obs": (tuple(space.shape or ()), np.dtype(space.dtype).str),
        "action": (tuple(action.shape or ()), np.dtype(kind).str),
        "reward": ((), np.dtype(np.float32).str),
        "terminated": ((), np.dtype(bool).str),
        "truncated": ((), np.dtype(bool).str),
    }


def _end_all(processes: list[Process]) -> None:
    for process in processes:
        process.end()
    processes.clear()
