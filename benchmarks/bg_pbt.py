"""Is BG-PBT worth it in practice, and are its generations? Four strategies with equal steps on two tasks that learn here.

    python benchmarks/bg_pbt.py run Pong --seeds 101 102 103 104 105
    python benchmarks/bg_pbt.py run HalfCheetah --seeds 101 102 103 104 105
    python benchmarks/bg_pbt.py table

All have the same space: four hyper-parameters, and width, depth and activation of the networks. Without generations the
architectures are drawn when a run begins, and inherited with the weights. What counts is the mean return of the member that
a run itself chose, in fresh episodes. Results are lines of `bg_pbt.jsonl` beside this file; a seed that is there is not
trained again, and a run that was stopped is resumed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from kept import Kept, Result

import evolute
from evolute.report.data.compare import estimated, improvement, iqm

KEPT = Kept(Path(__file__).with_suffix(".jsonl"))
RUNS = Path(__file__).parent / "results" / "bg_pbt"
JUDGING = 1_000_000
"""Fresh episodes have seeds from here on."""
ARMS: dict[str, dict[str, Any]] = {
    "BG-PBT, generations": {"strategy": "bg_pbt", "bg_pbt": {"generations": 2, "patience": 5, "taught": 4}},
    "BG-PBT": {"strategy": "bg_pbt", "bg_pbt": {"generations": 0}},
    "PBT": {"strategy": "pbt"},
    "random search": {"strategy": "random_search"},
}
SPACE = {
    "discount": "1-log[0.95, 0.999]",
    "clip": "[0.05, 0.4]",
    "width": "ordinal[32, 64, 128]",
    "depth": "int[1, 3]",
    "activation": "choice[tanh, relu]",
}
TURNS = 32


@dataclass(frozen=True)
class Task:
    """An environment, the steps of a turn, PPO's settings besides those of the space, and how many episodes judge."""

    env: str
    interval: int
    episodes: int
    settings: dict[str, Any]


TASKS = {
    "Pong": Task(
        "pong", 32_768, 60, {"lr": "log[1e-4, 1e-2]", "entropy": "log[1e-3, 1e-1]", "envs": 16, "unroll": 64, "minibatches": 8}
    ),
    "HalfCheetah": Task(
        "HalfCheetah-v5",
        6_144,
        20,
        {
            "lr": "log[1e-5, 1e-2]",
            "entropy": "log[1e-5, 1e-2]",
            "envs": 4,
            "unroll": 256,
            "epochs": 10,
            "minibatches": 16,
            "normalize_obs": True,
            "normalize_reward": True,
        },
    ),
}


def trained(name: str, arm: str, seed: int) -> Result:
    """One run, and the mean return of its best member in fresh episodes."""
    task, started = TASKS[name], time.process_time()
    run = evolute.run(
        "ppo",
        env=task.env,
        population=8,
        interval=task.interval,
        stop={"turns": TURNS},
        seed=seed,
        folder=RUNS / "-".join((name, arm.replace(",", "").replace(" ", "-"), str(seed))),
        display="none",
        ppo={**SPACE, **task.settings},
        **ARMS[arm],
    )
    returned = float(np.mean(run.best.evaluate(seed=JUDGING + seed, episodes=task.episodes) or []))
    values = {key: float(f"{value:.3g}") if isinstance(value, float) else value for key, value in run.best.hparams.items()}
    seconds = round(time.process_time() - started)
    return {"task": name, "arm": arm, "seed": seed, "return": round(returned, 2), "values": values, "cpu_seconds": seconds}


def run(name: str, seeds: Sequence[int], arms: Sequence[str]) -> None:
    """All arms of a seed before the next one, so that a few seeds are already a comparison."""
    for seed in seeds:
        for arm in arms:
            if KEPT.missing({"task": name, "arm": arm}, [seed]):
                KEPT.add(trained(name, arm, seed))


def table() -> None:
    """What each arm reached, and how probable it is that the first ends better."""
    print("| task | strategy | seeds | return of each | mean | interquartile mean (95 %) | generations are better |")
    print("|---|---|---|---|---|---|---|")
    results = {key: np.array([one["return"] for one in group]) for key, group in KEPT.grouped(("task", "arm")).items()}
    for task, arm in ((task, arm) for task in TASKS for arm in ARMS if (task, arm) in results):
        returns, first = results[task, arm], results.get((task, next(iter(ARMS))))
        each = ", ".join(f"{value:.4g}" for value in sorted(returns, reverse=True))
        better = "" if first is None or arm == next(iter(ARMS)) else _shown(estimated(improvement, first, returns), "{:.0%}")
        middle = _shown(estimated(iqm, returns), "{:.4g}")
        print(f"| {task} | {arm} | {len(returns)} | {each} | {returns.mean():.4g} | {middle} | {better} |")


def _shown(found: Any, form: str) -> str:
    value = form.format(found.value)
    return value if found.low is None else f"{value} ({form.format(found.low)} to {form.format(found.high)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("task", choices=list(TASKS))
    runner.add_argument("--seeds", type=int, nargs="+", required=True)
    runner.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS))
    commands.add_parser("table")
    asked = parser.parse_args()
    if asked.what == "run":
        run(asked.task, asked.seeds, asked.arms)
    else:
        table()


if __name__ == "__main__":
    main()
