"""PBT over MPI with Stable-Baselines3, four agents on CartPole at its default settings, in three ways.

They are EVO's (benchmarks/peers/evo_mpi.py), Evolute's `sb3:PPO` with `engine=mpi`, and Evolute's own PPO in one process. The
first two train the same code, and differ by less than rates move on a machine that others use as well: so they train at the
same time, and what counts is how far each comes while both are at it. EVO alone and our own PPO are measured in turn. From
all `--repeats` the median of the ratios is told.

    python benchmarks/bring_your_own.py                       # about a quarter of an hour
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
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from evolute.runs.turns import TurnTable

HERE = Path(__file__).parent
AGENTS, INTERVAL = 4, 8192
OWN = {"envs": 1, "unroll": 2048, "epochs": 10, "minibatches": 32}
"""Stable-Baselines3's default settings, in our words."""


def mpiexec() -> list[str]:
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise SystemExit("there is no mpiexec: pip install 'evolute[mpi]'")
    return [found, "-n", str(AGENTS)]


def evo(generations: int) -> list[str]:
    """The command of EVO's set-up: a line on stdout for each generation, and a summary."""
    command = [*mpiexec(), sys.executable, str(HERE / "peers" / "evo_mpi.py")]
    return [*command, "--generations", str(generations), "--interval", str(INTERVAL)]


def evolute(start: list[str], folder: Path, generations: int, *settings: str) -> list[str]:
    told = [*settings, "env=CartPole-v1", "strategy=winner_takes_all", f"population={AGENTS}", f"interval={INTERVAL}"]
    return [*start, "-m", "evolute", "run", "--json", "--folder", str(folder), "-m", *told, f"stop.turns={generations}"]


def sb3_on_mpi(folder: Path, generations: int) -> list[str]:
    settings = ("engine=mpi", "learner=sb3:PPO", "sb3.learning_rate=log[1e-5,1e-2]")
    return evolute([*mpiexec(), sys.executable], folder, generations, *settings)


def together(generations: int) -> tuple[float, float]:
    """Steps per second of EVO and of `sb3:PPO` on MPI, from the first generation of both to the end of either."""
    with tempfile.TemporaryDirectory() as name:
        folder, told = Path(name) / "run", Path(name) / "told"
        with told.open("w") as out, Path(name, "errors").open("w+") as errors:
            jobs = [
                subprocess.Popen(evo(generations), stdout=out, stderr=errors),
                subprocess.Popen(sb3_on_mpi(folder, generations), stdout=subprocess.DEVNULL, stderr=errors),
            ]
            seen = _watched(jobs, [lambda: told.read_text().count("generation"), lambda: _turns(folder)], generations)
            if any(job.wait() for job in jobs):
                errors.seek(0)
                raise SystemExit(errors.read())
    begin = max(min(moment for moment, done in marks if done) for marks in seen)
    end = min(marks[-1][0] for marks in seen)
    one, two = (_between(marks, begin, end) * AGENTS * INTERVAL / (end - begin) for marks in seen)
    return one, two


def _watched(
    jobs: list[subprocess.Popen[bytes]], counts: list[Callable[[], int]], generations: int
) -> list[list[tuple[float, int]]]:
    """When each job had how many generations done, looked at ten times a second until all are."""
    seen: list[list[tuple[float, int]]] = [[(time.monotonic(), 0)] for _ in jobs]
    while any(marks[-1][1] < generations for marks in seen) and not any(job.poll() for job in jobs):
        time.sleep(0.1)
        for marks, count in zip(seen, counts, strict=True):
            if (now := count()) > marks[-1][1]:
                marks.append((time.monotonic(), now))
    return seen


def _between(marks: list[tuple[float, int]], begin: float, end: float) -> float:
    """How many generations were done in a time, one under way by its share."""
    moments, done = zip(*marks, strict=True)
    return float(np.diff(np.interp([begin, end], moments, done))[0])


def _turns(folder: Path) -> int:
    """How many turns all members have done."""
    return len(TurnTable.read(folder).turn) // AGENTS if (folder / "journal.sqlite").exists() else 0


def evo_alone(generations: int) -> float:
    rate: float = json.loads(_run(evo(generations)).strip().splitlines()[-1])["steps_per_second"]
    return rate


def own_ppo(generations: int) -> float:
    """Steps per second of a whole run, journal and checkpoints included, from the end of its first turn on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        settings = (
            "engine=inline",
            "learner=ppo",
            "ppo.lr=log[1e-5,1e-2]",
            *(f"ppo.{key}={value}" for key, value in OWN.items()),
        )
        _run(evolute([sys.executable], folder, generations, *settings))
        table = TurnTable.read(folder)
    later = table.turn > 0
    return float(table.steps[later].sum() / (table.elapsed.max() - table.elapsed[~later].max()))


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    ratios: list[tuple[float, float]] = []
    for _ in range(options.repeats):
        theirs, ours = together(options.generations)
        print(
            f"at the same time: EVO {theirs:9,.0f} steps/s, sb3:PPO on MPI {ours:9,.0f}: {ours / theirs:.2f} times", flush=True
        )
        alone, own = evo_alone(options.generations), own_ppo(6 * options.generations)
        print(f"in turn:          EVO {alone:9,.0f} steps/s, own PPO        {own:9,.0f}: {own / alone:.1f} times", flush=True)
        ratios.append((ours / theirs, own / alone))
    same, other = (median(found) for found in zip(*ratios, strict=True))
    print(f"Evolute's sb3:PPO on MPI is {same:.2f} times as fast as EVO, its own PPO {other:.1f} times")


if __name__ == "__main__":
    main()
