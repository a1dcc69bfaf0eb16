"""An actor: a process that steps copies of an environment. Arrays are in memory that it shares with whoever started it.

Over the pipe that it was given come the environment, pickled, and then messages that begin with a letter: O opens copies, S
steps some, C closes all. It answers with the opening's number and, for each step, the row's. It ends when the pipe does.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import reduction
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle
import numpy as np

from evolute.core.tree import Tree, unpack
from evolute.envs.interface import Separable
from evolute.envs.pool import Copy

Array = np.ndarray[Any, Any]
OPEN, STEP, CLOSE = b"O", b"S", b"C"
OPENED, MOVED, FAILED = b"R", b"M", b"F"
TICK = 0.5
"""Seconds between two looks at whether the process that started this one is still there."""


@dataclass(frozen=True)
class Layout:
    """Where in shared memory what is: arrays of all rows, one behind the other."""

    rows: int
    shapes: Mapping[str, tuple[tuple[int, ...], str]]

    @property
    def size(self) -> int:
        return max(1, sum(self._bytes(name) for name in self.shapes))

    def arrays(self, memory: mmap.mmap) -> dict[str, Array]:
        """The arrays in this memory."""
        made, start = {}, 0
        for name, (shape, kind) in self.shapes.items():
            made[name] = np.frombuffer(memory, kind, self.rows * int(np.prod(shape)), start).reshape((self.rows, *shape))
            start += self._bytes(name)
        return made

    def _bytes(self, name: str) -> int:
        shape, kind = self.shapes[name]
        used = self.rows * int(np.prod(shape)) * np.dtype(kind).itemsize
        return -(-used // 64) * 64


@dataclass(frozen=True)
class Opening:
    """Copies to open: their seeds by row, and what each has done before its last actor was lost, to be done again.

    All answers have the opening's number.
    """

    number: int
    layout: Layout
    seeds: Mapping[int, int]
    before: Mapping[int, Sequence[Any]]

    def to_tree(self) -> Tree:
        """The opening as a message."""
        shapes = [[name, list(shape), kind] for name, (shape, kind) in self.layout.shapes.items()]
        before = [[row, np.stack(actions)] for row, actions in self.before.items() if len(actions)]
        seeds = [list(pair) for pair in self.seeds.items()]
        return {"number": self.number, "rows": self.layout.rows, "shapes": shapes, "seeds": seeds, "before": before}

    @classmethod
    def from_tree(cls, tree: Tree) -> Opening:
        """The opening in a message."""
        layout = Layout(tree["rows"], {name: (tuple(shape), kind) for name, shape, kind in tree["shapes"]})
        return cls(tree["number"], layout, dict(tree["seeds"]), dict(tree["before"]))


def serve(pipe: Connection) -> None:
    """Step copies until the pipe closes."""
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    with contextlib.suppress(EOFError, OSError):
        env: Separable = cloudpickle.loads(pipe.recv_bytes())
        copies: dict[int, Copy] = {}
        arrays: dict[str, Array] = {}
        number = 0
        while True:
            message = pipe.recv_bytes()
            if message[:1] == STEP:
                for row in np.frombuffer(message, np.int32, offset=4):
                    _step(pipe, copies[int(row)], np.array([number, row], np.int32), arrays)
                continue
            for copy in copies.values():
                copy.close()
            copies, arrays = {}, {}
            if message[:1] == OPEN:
                opening = Opening.from_tree(unpack(message[1:])[0])
                number = opening.number
                copies, arrays = _opened(pipe, env, opening)
                pipe.send_bytes(OPENED + bytes(3) + np.array([number, -1], np.int32).tobytes())


def _opened(pipe: Connection, env: Separable, opening: Opening) -> tuple[dict[int, Copy], dict[str, Array]]:
    handle = reduction.recv_handle(pipe)
    memory = mmap.mmap(handle, opening.layout.size)
    os.close(handle)
    copies = {row: Copy(env, seed) for row, seed in opening.seeds.items()}
    for row, actions in opening.before.items():
        for action in actions:
            copies[row].move(action)
    return copies, opening.layout.arrays(memory)


def _step(pipe: Connection, copy: Copy, place: Array, arrays: dict[str, Array]) -> None:
    row = int(place[1])
    obs, reward, terminated, truncated = copy.move(arrays["action"][row])
    if obs is not None:
        arrays["obs"][row] = obs
    arrays["reward"][row], arrays["terminated"][row], arrays["truncated"][row] = reward, terminated, truncated
    if copy.error is None:
        pipe.send_bytes(MOVED + bytes(3) + place.tobytes())
    else:
        pipe.send_bytes(FAILED + bytes(3) + place.tobytes() + "".join(traceback.format_exception(copy.error)).encode())


def _leave_with_parent(parent: int) -> None:
    """End with the process that started this one, even in the middle of a step."""
    while os.getppid() == parent:
        time.sleep(TICK)
    os._exit(1)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
