"""What tests of engines share: the worker processes of a leader, learners that take their time, and what a run came to."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evolute.core.durability import reachable
from evolute.runs.result import Run
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal


def noisy(state, hparams, steps, seed):
    """A walk whose every step depends on all that went before."""
    time.sleep(hparams.get("sleep", 0.0))
    total = (0.0 if state is None else state["total"]) + np.random.default_rng(seed).normal(hparams["lr"])
    return {"total": total, "ballast": np.full(1000, total)}, {"score": total}


def outcome(folder: Path) -> tuple[str, list[bytes]]:
    """The canonical dump of a run, and the bytes of every state that an order could still name."""
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    checkpoints = Checkpoints(folder / "checkpoints")
    return dump, [checkpoints.path(ref).read_bytes() for ref in sorted(reachable(Run.open(folder).population))]


def reported(folder: Path) -> int:
    """How many turns the journal has so far."""
    journal = Journal.read(folder)
    turns = journal.turn_count()
    journal.close()
    return turns


def children(leader: int | None = None, *, kind: str = "evolute.engines.links.processes") -> list[int]:
    """The processes of this kind that a leader has started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1]) if entry.name.isdigit() else 0
            if parent == (leader or os.getpid()) and kind in (entry / "cmdline").read_text():
                found.append(int(entry.name))
        except (OSError, IndexError):
            continue
    return found


def appeared(count: int, leader: int | None = None) -> list[int]:
    """The worker processes, as soon as there are `count`."""
    deadline = time.monotonic() + 60
    while len(found := children(leader)) < count:
        assert time.monotonic() < deadline, f"{len(found)} workers instead of {count}"
        time.sleep(0.01)
    return found


def vanished(pids: list[int]) -> None:
    """Wait until these processes are gone."""
    deadline = time.monotonic() + 10
    while left := [pid for pid in pids if alive(pid)]:
        assert time.monotonic() < deadline, f"processes {left} are still there"
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def killing(folder: Path, turns: float, seed: int = 0):
    """While the block runs, kill workers of this process at random; yields the victims.

    There is one more victim for every `turns` turns in the journal: workers die all the time, whatever they do, and a slow
    machine still gets on.
    """
    over, victims, rng = threading.Event(), [], random.Random(seed)

    def kill():
        while not over.wait(rng.uniform(0.0, 0.3)):
            if folder.exists() and len(victims) < reported(folder) / turns and (pids := children()):
                victims.append(rng.choice(pids))
                os.kill(victims[-1], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield victims
    finally:
        over.set()
        thread.join()
