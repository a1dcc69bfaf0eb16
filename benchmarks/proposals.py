"""How long one proposal takes: ours against Ray Tune's PB2 and a BG-PBT-style optimiser on BoTorch, on the same rows.

All get 200 rows of 8 hyper-parameters, context and time, and 7 pending members. Ours runs as a user runs it, with the
environment as it is, on a quiet machine and then beside a busy process on every core; also at 1,000 rows, and for PB2-Mix
with an ordinal, a category, a discount and an int. Peers are kept to one thread. What is
compared is processor time, of all threads together; the time on the clock is printed beside it.

    python benchmarks/proposals.py                  # installs the peers into a virtual environment of their own
    python benchmarks/proposals.py --peers VENV     # where they are installed already
    python benchmarks/proposals.py --ours           # without peers
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from peer import answer, program_of, python_of

from evolute.core.order import Report
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.population import Population
from evolute.core.protocols import Plan, Strategy
from evolute.core.space import Space
from evolute.strategies import bg_pbt, pb2, pb2_mix
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.rows import newest_rows

PEER = "model_proposal"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
DIMENSIONS, MEMBERS, INTERVAL, REPEATS = 8, 8, 10, 5
SPACE = Space({f"x{number}": Float(0, 1) for number in range(DIMENSIONS)})
MIXED = Space(
    {
        "width": Ordinal(8, 16, 32, 64),
        "act": Choice("a", "b", "c"),
        "discount": Float(0.8, 0.9999, complement=True),
        "epochs": Int(1, 64, log=True),
    }
)
CASES: list[tuple[str, Callable[..., Strategy], Space, int]] = [
    ("pb2", pb2, SPACE, 200),
    ("bg_pbt", bg_pbt, SPACE, 200),
    ("pb2_mix", pb2_mix, MIXED, 144),
    ("pb2", pb2, SPACE, 1000),
    ("bg_pbt", bg_pbt, SPACE, 1000),
]


class Cost(NamedTuple):
    """Processor seconds of all threads, and seconds on the clock."""

    processor: float
    clock: float


def grown(rows: int, space: Space) -> Population:
    """A population after this many turns, with gains that depend on the hyper-parameters."""
    rng = np.random.default_rng(0)
    population = Population.of(MEMBERS)
    for _ in range(rows // MEMBERS):
        reports = []
        for member in population.members:
            hparams = space.sample(rng)
            gain = 1 - sum((unit - 0.6) ** 2 for unit in space.encode(hparams)) + rng.normal(0, 0.3)
            before = 0.0 if member.latest is None else member.latest.score or 0.0
            start = None if member.latest is None else member.latest.ref
            order = population.draft(member.slot, hparams, start=start)
            reports.append(Report(order, {"score": before + gain}, INTERVAL, digest="-"))
        population = population.report(reports)
    return population


def ours(make: Callable[..., Strategy], space: Space, rows: int) -> Cost:
    """The median cost of a decision with one heir."""
    population = grown(rows, space)
    plan = Plan(space, MEMBERS, INTERVAL, 1000)
    strategy = make(plan, quantile=1 / MEMBERS, rows=rows)
    costs = []
    for seed in range(REPEATS + 1):
        processor, clock = time.process_time(), time.perf_counter()
        strategy.step(strategy.init(), population, range(MEMBERS), np.random.default_rng(seed))
        costs.append((time.process_time() - processor, time.perf_counter() - clock))
    return Cost(*(float(seconds) for seconds in np.median(costs[1:], axis=0)))


@contextlib.contextmanager
def busy_cores() -> Iterator[None]:
    """A process on every core that does nothing but compute."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def peers(venv: Path | None, rows: int) -> dict[str, float]:
    """The median processor time of each peer on the rows that ours had."""
    python = str(venv / "bin" / "python") if venv else python_of(PEER)
    population = grown(rows, SPACE)
    table = newest_rows(population, interval=INTERVAL, limit=rows)
    points = table.points(Layout(SPACE))
    pending = np.array([SPACE.encode(m.latest.order.hparams) for m in population.members[1:] if m.latest is not None])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, numbers=points.numbers, time=points.time, gain=table.gain, pending=pending)
        return {name: _measured(python, name, path) for name in ("ray", "botorch")}


def _measured(python: str, name: str, path: Path) -> float:
    command = [python, program_of(PEER), name, str(path)]
    return float(np.median(answer(command, env={**os.environ, **ONE_THREAD})["seconds"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="a virtual environment with the peers")
    parser.add_argument("--ours", action="store_true", help="leave the peers out")
    asked = parser.parse_args()
    other = {} if asked.ours else peers(asked.peers, 200)
    for name, make, space, rows in CASES:
        quiet = ours(make, space, rows)
        with busy_cores():
            busy = ours(make, space, rows)
        print(f"{name:8}{rows:5} rows x {len(space)}: ", end="")
        print(f"{quiet.processor:.3f} s of processor time ({quiet.clock:.3f} s), ", end="")
        print(f"beside busy cores {busy.processor:.3f} s ({busy.clock:.3f} s)", flush=True)
        if other and space is SPACE and rows == 200:
            print(f"  Ray Tune's PB2 {other['ray']:.2f} s, {other['ray'] / quiet.processor:.1f}x; ", end="")
            print(f"BoTorch {other['botorch']:.2f} s, {other['botorch'] / quiet.processor:.1f}x", flush=True)


if __name__ == "__main__":
    main()
