"""PBT over MPI with Stable-Baselines3, four agents on CartPole at its default settings, in three ways.

They are EVO's (benchmarks/peers/evo_mpi.py), Evolute's `sb3:PPO` with `engine=mpi`, and Evolute's own PPO in one process. All
are measured in this run, one after another, `--repeats` times, and the best of each counts. On a machine that others use as
well, compare the processor seconds rather than the rates.

    python benchmarks/bring_your_own.py
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AGENTS, INTERVAL = 4, 8192
OWN = {"envs": 1, "unroll": 2048, "epochs": 10, "minibatches": 32}
"""Stable-Baselines3's default settings, in our words."""


def mpiexec() -> list[str]:
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise SystemExit("there is no mpiexec: pip install 'evolute[mpi]'")
    return [found, "-n", str(AGENTS)]


def evo(generations: int) -> dict[str, float]:
    command = [*mpiexec(), sys.executable, str(HERE / "peers" / "evo_mpi.py")]
    printed = _run([*command, "--generations", str(generations), "--interval", str(INTERVAL)])
    answer: dict[str, float] = json.loads(printed.strip().splitlines()[-1])
    return answer


def sb3_on_mpi(generations: int) -> dict[str, float]:
    return _evolute([*mpiexec(), sys.executable], generations, engine="mpi", learner="sb3:PPO", space="sb3.learning_rate")


def own_ppo(generations: int) -> dict[str, float]:
    settings = [f"ppo.{name}={value}" for name, value in OWN.items()]
    return _evolute([sys.executable], generations, *settings, engine="inline", learner="ppo", space="ppo.lr")


def _evolute(start: list[str], generations: int, *settings: str, engine: str, learner: str, space: str) -> dict[str, float]:
    """Steps per second of a whole run, journal and checkpoints included, after its first turn, which compiles or warms up."""
    import evolute

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        told = [f"engine={engine}", f"learner={learner}", f"{space}=log[1e-5,1e-2]", "env=CartPole-v1", *settings]
        told += ["strategy=winner_takes_all", f"population={AGENTS}", f"interval={INTERVAL}", f"stop.turns={generations}"]
        worked = _children()
        _run([*start, "-m", "evolute", "run", "--json", "--folder", str(folder), "-m", *told])
        worked = _children() - worked
        run = evolute.load(folder)
        first = max(run.member(slot).lineage[0].report.seconds for slot in range(AGENTS))
        steps = AGENTS * (generations - 1) * INTERVAL
        return {"steps_per_second": steps / (run.elapsed - first), "cpu_seconds": worked, "best": run.best.score or 0.0}


def _run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    best: dict[str, dict[str, Any]] = {}
    for _ in range(options.repeats):
        for name, measured in (("EVO", evo), ("sb3:PPO on MPI", sb3_on_mpi), ("own PPO", own_ppo)):
            found = measured(options.generations)
            rate, worked = found["steps_per_second"], found["cpu_seconds"]
            print(f"{name:16} {rate:9,.0f} steps/s  {worked:6.1f} CPU s  best {found['best']:.0f}", flush=True)
            if name not in best or found["steps_per_second"] > best[name]["steps_per_second"]:
                best[name] = found
    rates = {name: found["steps_per_second"] for name, found in best.items()}
    print(f"Evolute's sb3:PPO on MPI is {rates['sb3:PPO on MPI'] / rates['EVO']:.2f} times as fast as EVO")
    print(f"Evolute's own PPO is {rates['own PPO'] / rates['EVO']:.1f} times as fast as EVO")


if __name__ == "__main__":
    main()
