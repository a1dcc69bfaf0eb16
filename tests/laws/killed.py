"""Whole runs in processes of their own, which kill themselves at the write point of a given number.

A server process imports everything once and forks for each run, so that a run costs no start-up. It is started as a script,
reads one JSON request a line (folder, settings, point) and answers each with the exit status of the fork. Without a point, a
run writes the names of the points it passed to FOLDER.points. With arguments the script is one run instead, which is
killed when it passes a point of this name for the given time. The `requests` among the settings are left for the run when it
has a folder, also for a run that goes on.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 600
"""Seconds after which a run hangs; it takes some ten, and on a busy machine many times as long."""


@dataclass
class Killer:
    """The server, as tests see it: `train` returns a run's exit code, negative for a signal."""

    process: subprocess.Popen[str] = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        here = Path(__file__).parent
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), str(here.parents[1]), os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
        )

    def train(self, folder: Path, settings: dict, point: int | None = None) -> int:
        with self._lock:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.write(json.dumps([str(folder), settings, point]) + "\n")
            self.process.stdin.flush()
            return int(self.process.stdout.readline())

    def close(self) -> None:
        self.process.communicate(timeout=30)


def alone(folder: Path, settings: dict, *point: str | int) -> int:
    """The exit code of a run in processes of its own, on any engine, whose leader may kill itself at a write point."""
    from tests.engines import mpiexec

    words = [__file__, str(folder), json.dumps(settings), *map(str, point)]
    if settings["engine"] == "mpi":
        process = mpiexec.mpiexec(3, *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.communicate(timeout=PATIENCE)
        return process.returncode
    env = {**os.environ, "RAY_raylet_start_wait_time_s": "120"}
    done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode not in (0, -signal.SIGKILL):
        print(done.stderr, file=sys.stderr)
    return done.returncode


def run(folder: Path, settings: dict, at: int | None) -> None:
    """One run, in a fork."""
    import evolute
    from evolute.store import points
    from evolute.store.requests import RequestFolder

    passed: list[str] = []

    def hook(name: str) -> None:
        passed.append(name)
        if len(passed) == at:
            os.kill(os.getpid(), signal.SIGKILL)

    def leave(name: str) -> None:
        if name == "folder.named":
            for number, body in enumerate(requests):
                RequestFolder(folder).put(body, f"{number:03d}")

    requests = settings.pop("requests", [])
    if folder.exists():
        leave("folder.named")
    points.hooks += [leave, hook]
    evolute.run(folder=folder, display="none", **settings)
    folder.with_suffix(".points").write_text(json.dumps(passed))


def kill_at(name: str, times: str) -> None:
    """Have this process kill itself when it passes a write point of this name for the given time."""
    from evolute.store import points

    passed = []

    def hook(point: str) -> None:
        passed.extend([point] if point == name else [])
        if len(passed) == int(times):
            os.kill(os.getpid(), signal.SIGKILL)

    points.hooks.append(hook)


def forked(request: str) -> int:
    """The exit code of a run in a fork of this process."""
    folder, settings, point = json.loads(request)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.dup2(2, 1)
            run(Path(folder), settings, point)
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if (
    __name__ == "__main__" and len(sys.argv) > 1
):  # one run, on every rank that this is started on: FOLDER SETTINGS [POINT TIMES]
    if len(sys.argv) > 3:
        kill_at(*sys.argv[3:])
    run(Path(sys.argv[1]), json.loads(sys.argv[2]), None)
elif __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:  # imports all that a run needs before the first fork
        run(Path(scratch) / "warm", {"preset": "toy", "stop": {"turns": 1}}, None)
    from evolute.store.points import hooks

    hooks.clear()
    for line in sys.stdin:
        print(forked(line), flush=True)
