"""What engines cost and gain: ratios of figures measured in this run, one after another on the same machine.

    python benchmarks/engines.py                          # everything; about ten minutes
    python benchmarks/engines.py throughput overhead      # some parts

throughput  PPO on CartPole, 16 members: processes and MPI on all cores over inline's sharded program
exchange    a state of 10 MB from rank to rank over raw mpi4py Send and Recv of the same bytes
overhead    milliseconds per member-turn around a learner that does nothing; Ray Tune's PBT doing the same
startup     seconds from the command to its end over inline, for one turn

How it would go with 10,000 members on 1,000 workers is in benchmarks/scaling.py.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
CORES = len(os.sched_getaffinity(0))
PPO = {
    "learner": "ppo", "env": "CartPole-v1", "population": 16, "interval": 8192, "stop": {"turns": 12},
    "ppo": {"lr": "log[1e-5, 1e-2]", "entropy": "log[1e-4, 1e-1]", "envs": 8, "unroll": 128, "epochs": 4, "minibatches": 4},
}  # fmt: skip
NOOP = {
    "learner": "benchmarks.engines:noop",
    "population": 64,
    "stop": {"turns": 60},
    "noop": {"lr": "log[1e-5, 1e-1]", "clip": "[0, 1]"},
}
ENGINES = {
    "inline": {"engine": "inline"},
    "processes": {"engine": "processes", "workers": CORES},
    "mpi": {"engine": "mpi"},
    "ray": {"engine": "ray", "workers": CORES},
}
STATE = 10_000_000
EXCHANGES = 10
REPEATS = 3


def noop(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """Does nothing, with a score that differs between members."""
    return {"weights": np.zeros(8)}, {"score": hparams["lr"]}


def run(settings: dict[str, Any]) -> None:
    """Train in this process; the last line printed has the seconds per member-turn after the first two turns."""
    from evolute.config.layers import python, stack
    from evolute.config.resolve import resolved
    from evolute.core.events import Event, Reported
    from evolute.core.protocols import Followed
    from evolute.runs.session import Launch, launch

    arrived: list[tuple[float, int]] = []

    def watch(event: Event) -> None:
        if isinstance(event, Reported):
            arrived.append((time.perf_counter(), len(event.reports)))

    with tempfile.TemporaryDirectory() as folder:
        try:
            launch(resolved(stack([python({**settings, "runs": folder})])), Launch(notify=watch))
        except Followed:
            return
    warm, seen, began = 2 * settings["population"], 0, 0
    for place, (_, count) in enumerate(arrived):
        seen += count
        if seen >= warm:
            began = place
            break
    turns = sum(count for _, count in arrived[began + 1 :])
    print(json.dumps({"seconds": (arrived[-1][0] - arrived[began][0]) / turns}))


def measured(part: str, settings: dict[str, Any], *, ranks: int | None = None) -> dict[str, float]:
    """The figures of a part, run in a process of its own or on this many ranks."""
    launcher = [] if ranks is None else [_mpiexec(), "-n", str(ranks)]
    command = [*launcher, sys.executable, str(HERE / "engines.py"), "--part", part, json.dumps(settings)]
    path = os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def seconds(engine: str, settings: dict[str, Any]) -> float:
    """Seconds per member-turn on an engine."""
    return measured("run", {**settings, **ENGINES[engine]}, ranks=CORES if engine == "mpi" else None)["seconds"]


def throughput() -> None:
    """Interleaved, so that other load on the machine affects all alike."""
    best: dict[str, float] = {}
    for _ in range(REPEATS):
        for engine in ("inline", "processes", "mpi"):
            best[engine] = min(best.get(engine, np.inf), seconds(engine, PPO))
    say("inline, environment steps per second", f"{PPO['interval'] / best['inline']:,.0f}")
    for engine in ("processes", "mpi"):
        say(f"{engine} over inline, throughput", f"{best['inline'] / best[engine]:.2f}")


def overhead() -> None:
    from overhead import peer

    figures = {engine: 1e3 * min(seconds(engine, NOOP) for _ in range(REPEATS)) for engine in ENGINES}
    for engine, each in figures.items():
        say(f"{engine}, ms per member-turn", f"{each:.3f}")
    theirs = peer(64, 10)
    say("Ray Tune's PBT, ms per member-turn", f"{theirs:.1f}  ({theirs / figures['ray']:.0f}x our Ray engine)")


def exchange() -> None:
    figures = measured("exchange_ranks", {}, ranks=2)
    say("10 MB by raw Send and Recv, ms", f"{figures['raw']:.2f}")
    say("10 MB as a state from rank to rank, ms", f"{figures['state']:.2f}  ({figures['state'] / figures['raw']:.2f}x)")


def exchange_ranks(_: dict[str, Any]) -> None:
    """On two ranks: rank 1 gets the same bytes from rank 0 by raw calls and by asking for a state, in turn."""
    import queue
    import threading

    from evolute.engines.links.call_server import CallServer
    from evolute.engines.links.rank_endpoint import RankEndpoint
    from evolute.engines.links.ranks import world

    class Holder:
        def __init__(self) -> None:
            self.tree = {"weights": np.ones(STATE, np.uint8)}

        def give(self, _: Any) -> Any:
            return self.tree

    here, over = world(), queue.SimpleQueue[Any]()
    endpoint = RankEndpoint(here, CallServer(lambda message: None), lambda source, message: over.put(message))
    endpoint.open(lambda context: Holder())
    raw: list[float] = []
    asked: list[float] = []
    buffer, word = np.ones(STATE, np.uint8), np.zeros(1, np.uint8)

    def raw_calls(done: threading.Event) -> None:
        for _ in range(20):
            started = time.perf_counter()
            if here.rank == 0:
                here.comm.Recv(word, 1, 9)
                here.comm.Send(buffer, 1, 9)
            else:
                here.comm.Send(word, 0, 9)
                here.comm.Recv(buffer, 0, 9)
            raw.append(time.perf_counter() - started)
        done.set()

    for _ in range(EXCHANGES):
        done = threading.Event()
        here.do(partial(raw_calls, done))
        done.wait()
        if here.rank == 0:
            over.get()
            continue
        for _ in range(20):
            started = time.perf_counter()
            assert len(endpoint.ask("0", "give", [0, 0])["weights"]) == STATE
            asked.append(time.perf_counter() - started)
        here.send(0, {"over": True})
    if here.rank == 0:
        return
    print(json.dumps({"raw": 1e3 * float(np.median(raw)), "state": 1e3 * float(np.median(asked))}))


def startup() -> None:
    """Whole commands, of one turn."""

    def command(*more: str) -> float:
        def once() -> float:
            with tempfile.TemporaryDirectory() as folder:
                started = time.perf_counter()
                words = [sys.executable, "-m", "evolute", "run", "cartpole", "-m", "stop.turns=1", f"runs={folder}", *more]
                subprocess.run(words, check=True, capture_output=True)
                return time.perf_counter() - started

        return min(once() for _ in range(REPEATS))

    command("engine=processes")  # so that both find their programs compiled
    alone = command()
    say("processes over inline, seconds for one turn of CartPole", f"{command('engine=processes') - alone:+.1f}")


def say(label: str, figure: str) -> None:
    print(f"{label:58} {figure}", flush=True)


def _mpiexec() -> str:
    beside = Path(sys.executable).with_name("mpiexec")
    return str(beside) if beside.exists() else shutil.which("mpiexec") or "mpiexec"


PARTS = {"throughput": throughput, "exchange": exchange, "overhead": overhead, "startup": startup}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="which parts; all by default")
    parser.add_argument("--part", nargs=2, metavar=("NAME", "SETTINGS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        {"run": run, "exchange_ranks": exchange_ranks}[arguments.part[0]](json.loads(arguments.part[1]))
        return
    for name in arguments.parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
