"""How long one proposal takes: ours against Ray Tune's PB2 and a BG-PBT-style optimiser on BoTorch, on the same rows.

All get 200 rows of 8 hyper-parameters, context and time, and 7 pending members, on one thread each, one after the other;
what is compared is processor time, so that other programs on the machine do not count. Ours is also timed at 1,000 rows.

    python benchmarks/proposals.py                  # installs the peers into a virtual environment of their own
    python benchmarks/proposals.py --peers VENV     # where they are installed already
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from evolute.core.order import Report
from evolute.core.param import Float
from evolute.core.population import Population
from evolute.core.protocols import Plan, Strategy
from evolute.core.space import Space
from evolute.strategies import bg_pbt, pb2
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.rows import newest_rows

HERE = Path(__file__).parent
PEER = HERE / "peers" / "model_proposal.py"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
DIMENSIONS, MEMBERS, INTERVAL, REPEATS = 8, 8, 10, 5
SPACE = Space({f"x{number}": Float(0, 1) for number in range(DIMENSIONS)})


def grown(rows: int) -> Population:
    """A population after so many turns, with gains that depend on the hyper-parameters."""
    rng = np.random.default_rng(0)
    population = Population.of(MEMBERS)
    for _ in range(rows // MEMBERS):
        reports = []
        for member in population.members:
            hparams = SPACE.sample(rng)
            gain = 1 - sum((value - 0.6) ** 2 for value in hparams.values()) + rng.normal(0, 0.3)
            before = 0.0 if member.latest is None else member.latest.score or 0.0
            start = None if member.latest is None else member.latest.ref
            order = population.draft(member.slot, hparams, start=start)
            reports.append(Report(order, {"score": before + gain}, INTERVAL, digest="-"))
        population = population.report(reports)
    return population


def ours(make: Any, rows: int) -> float:
    """The median processor time of a decision with one heir."""
    population = grown(rows)
    plan = Plan(SPACE, MEMBERS, INTERVAL, 1000)
    strategy: Strategy = make(plan, quantile=1 / MEMBERS, rows=rows)
    seconds = []
    for seed in range(REPEATS + 1):
        started = time.process_time()
        strategy.step(strategy.init(), population, range(MEMBERS), np.random.default_rng(seed))
        seconds.append(time.process_time() - started)
    return float(np.median(seconds[1:]))


def peers(venv: Path | None, rows: int) -> dict[str, float]:
    """The median processor time of each peer on the rows that ours had."""
    venv = venv or _installed()
    population = grown(rows)
    found = newest_rows(population, interval=INTERVAL, limit=rows)
    points = found.points(Layout(SPACE))
    pending = np.array([SPACE.encode(m.latest.order.hparams) for m in population.members[1:] if m.latest is not None])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, numbers=points.numbers, time=points.time, gain=found.gain, pending=pending)
        return {name: _measured(venv, name, path) for name in ("ray", "botorch")}


def _measured(venv: Path, name: str, path: Path) -> float:
    command = [str(venv / "bin" / "python"), str(PEER), name, str(path)]
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1]
    return float(np.median(json.loads(answer)["seconds"]))


def _installed() -> Path:
    venv = HERE / ".venvs" / "model"
    if not venv.exists():
        print("installing BoTorch and Ray into a virtual environment of their own …", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        for requirement in PEER.with_suffix(".txt").read_text().split():  # one by one: torch first
            subprocess.run([str(venv / "bin" / "pip"), "install", "--quiet", requirement], check=True)
    return venv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="a virtual environment with the peers")
    asked = parser.parse_args()
    other = peers(asked.peers, 200)
    for name, make in (("pb2", pb2), ("bg_pbt", bg_pbt)):
        mine = ours(make, 200)
        print(f"{name:8} 200 rows x {DIMENSIONS}: {mine:.3f} s; ", end="")
        print(f"Ray Tune's PB2 {other['ray']:.2f} s, {other['ray'] / mine:.1f}x; ", end="")
        print(f"BoTorch {other['botorch']:.2f} s, {other['botorch'] / mine:.1f}x")
        print(f"{name:8} 1000 rows x {DIMENSIONS}: {ours(make, 1000):.3f} s", flush=True)


if __name__ == "__main__":
    if not ONE_THREAD.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    main()
