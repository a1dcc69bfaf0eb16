"""Does native code learn as well as XLA's? The same task, settings and seeds with both, and the returns side by side.

Each arm is one run of several members that inherit nothing, so a seed is a member. A run that was stopped is resumed by the
same command. What is compared is each seed's mean return over 100 fresh episodes after training, by interquartile means with
95 % bootstrap intervals, and by how many seeds are above a mark that one gait of HalfCheetah reaches and the other does not.
What has been measured is kept in `paths.json` beside this file. Its first results were not made by this program but by one
that patched a clone of commit 26899eb, which also drew minibatches by a true random permutation (`shuffle`: "random").

    python benchmarks/paths.py run HalfCheetah --seed 0 --seeds 10     # trains both arms where results are missing
    python benchmarks/paths.py sb3 HalfCheetah --seed 0 --seeds 5      # Stable-Baselines3's PPO, one process per core
    python benchmarks/paths.py table                                   # everything measured so far
    python benchmarks/paths.py check                                   # before a release: fails if an arm is clearly worse

`check` trains 12 seeds of each arm on HalfCheetah for 400k steps and compares the score at the end
of training. `power` simulates it with the scores in `paths.json`: how often an arm whose scores are a quarter lower is
noticed, and how often two equal arms are called different.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from learning import TASKS, Task

import evolute
from evolute.report.data.compare import estimated, improvement, iqm

KEPT = Path(__file__).with_suffix(".json")
RUNS = Path(__file__).parent / "results" / "paths"
PEER = Path(__file__).parent / "peers" / "sb3_mujoco.py"
ARMS = ("native", "xla")
MARK = {"HalfCheetah": 2500.0}
CHECKED, CHECKED_SEEDS, CHECKED_TURNS = "HalfCheetah", 12, 2
WORSE = 0.75
"""`check` is to notice an arm whose scores are this share of the other's."""
Scores = np.ndarray[Any, np.dtype[np.float64]]


def measured() -> list[dict[str, Any]]:
    """The results so far: task, code, shuffle, seed, mean returns and learning curves of each member."""
    results: list[dict[str, Any]] = json.loads(KEPT.read_text()) if KEPT.exists() else []
    return results


def trained(name: str, task: Task, code: str, seed: int, seeds: int) -> dict[str, Any]:
    """One arm: its members' mean returns in fresh episodes, and their scores after each turn."""
    folder = RUNS / f"{name}-{code}-{seed}-{task.turns}"
    settings = {**task.settings, "code": code}
    interval = -(-task.steps // task.turns)
    run = evolute.run(
        "ppo",
        env=task.env,
        strategy="random_search",
        population=seeds,
        interval=interval,
        stop={"turns": task.turns},
        seed=seed,
        folder=folder,
        ppo=settings,
    )
    members = [run.member(slot) for slot in range(seeds)]
    returns = [float(np.mean(one.evaluate(seed=1000 + slot, episodes=100) or [])) for slot, one in enumerate(members)]
    curves = [[turn.score for turn in one.lineage] for one in members]
    return {"task": name, "code": code, "shuffle": "affine", "seed": seed, "returns": returns, "curves": curves}


def run(names: Sequence[str], seed: int, seeds: int) -> None:
    """Train both arms of each task where results are missing."""
    for name in names:
        for code in ARMS:
            if (name, code, "affine", seed) not in known():
                keep(trained(name, TASKS[name], code, seed, seeds))
    table()


def known() -> set[tuple[str, str, str, int]]:
    return {(one["task"], one["code"], one["shuffle"], one["seed"]) for one in measured()}


def keep(result: dict[str, Any]) -> None:
    lines = ",\n".join(json.dumps(one) for one in [*measured(), result])
    KEPT.write_text(f"[\n{lines}\n]\n")
    returns = [round(value) for value in result["returns"]]
    print(f"{result['task']}, {result['code']}, seed {result['seed']}: {returns}", flush=True)


def sb3(names: Sequence[str], seed: int, seeds: int) -> None:
    """Train Stable-Baselines3's PPO with the same settings where results are missing, a seed on each core at a time."""
    asked = [(name, one) for name in names for one in range(seed, seed + seeds)]
    missing = [(name, one) for name, one in asked if (name, "sb3", "random", one) not in known()]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for done in as_completed([threads.submit(trained_by_sb3, *one) for one in missing]):
            keep(done.result())
    table()


def trained_by_sb3(name: str, seed: int) -> dict[str, Any]:
    """One seed of the peer, in a process of its own."""
    command = [sys.executable, str(PEER), "--env", TASKS[name].env, "--seed", str(seed), "--evaluation-episodes", "100"]
    ended = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])["evaluation_return"]
    return {"task": name, "code": "sb3", "shuffle": "random", "seed": seed, "returns": [found], "curves": []}


def pooled(results: Sequence[dict[str, Any]]) -> dict[tuple[str, str, str], Scores]:
    """The returns of all seeds of each arm."""
    arms: dict[tuple[str, str, str], list[float]] = {}
    for one in results:
        arms.setdefault((one["task"], one["code"], one["shuffle"]), []).extend(one["returns"])
    return {key: np.array(values) for key, values in sorted(arms.items())}


def table() -> None:
    """Print what has been measured so far as the table of docs/ppo.md."""
    arms = pooled(measured())
    print("| task | code | minibatches | seeds | interquartile mean (95 %) | mean | median | above the mark |")
    print("|---|---|---|---|---|---|---|---|")
    for (task, code, shuffle), scores in arms.items():
        middle = estimated(iqm, scores)
        above = f"{int((scores > MARK[task]).sum())} above {MARK[task]:,.0f}" if task in MARK else ""
        interval = "–" if middle.low is None else f"{middle.value:.0f} ({middle.low:.0f} to {middle.high:.0f})"
        ends = f"{interval} | {scores.mean():.0f} | {np.median(scores):.0f} | {above}"
        print(f"| {task} | {code} | {shuffle} | {len(scores)} | {ends} |")
    for (task, code, shuffle), scores in arms.items():
        others = [(other, arms[other]) for other in arms if other[0] == task and other > (task, code, shuffle)]
        for other, rest in others:
            better = estimated(improvement, scores, rest)
            between = f"{code}, {shuffle} ends better than {other[1]}, {other[2]}"
            print(f"{task}: {between} with probability {better.value:.0%} ({better.low:.0%} to {better.high:.0%})")


def clearly_worse(one: Scores, other: Scores) -> bool:
    """Whether the interquartile mean of the one is below that of the other by more than an eighth, and surely so."""
    rng = np.random.default_rng(0)
    ratios = [iqm(rng.choice(one, len(one))) / iqm(rng.choice(other, len(other))) for _ in range(1000)]
    return float(np.quantile(ratios, 0.99)) < 1 and iqm(one) / iqm(other) < (1 + WORSE) / 2


def check() -> None:
    """Compare both arms on a short task; exit code 1 if one is clearly worse."""
    task = replace(TASKS[CHECKED], turns=CHECKED_TURNS, steps=TASKS[CHECKED].steps * CHECKED_TURNS // TASKS[CHECKED].turns)
    ends = {}
    for code in ARMS:
        result = trained(CHECKED, task, code, 0, CHECKED_SEEDS)
        ends[code] = np.array([curve[-1] for curve in result["curves"]])
        print(f"{code}: interquartile mean {iqm(ends[code]):.0f} of {[round(value) for value in ends[code]]}", flush=True)
    for one, other in (ARMS, ARMS[::-1]):
        if clearly_worse(ends[one], ends[other]):
            sys.exit(f"{one} learns clearly worse than {other}")
    print("no arm is clearly worse")


def power(trials: int = 500) -> None:
    """How often `check` notices an arm that is a quarter worse, and an equal one, from the scores measured so far."""
    results = [one for one in measured() if one["task"] == CHECKED]
    scores = np.array([curve[CHECKED_TURNS - 1] for one in results for curve in one["curves"]])
    rng = np.random.default_rng(1)
    drawn = [(rng.choice(scores, CHECKED_SEEDS), rng.choice(scores, CHECKED_SEEDS)) for _ in range(trials)]
    noticed = np.mean([clearly_worse(WORSE * one, other) for one, other in drawn])
    alarms = np.mean([clearly_worse(one, other) or clearly_worse(other, one) for one, other in drawn])
    text = f"{noticed:.1%} notice an arm that is a quarter worse, {alarms:.1%} call equal arms different"
    print(f"of {trials} simulated checks {text}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "sb3", "table", "check", "power"])
    parser.add_argument("tasks", nargs="*", default=["HalfCheetah"], help=f"for `run` and `sb3`: of {', '.join(TASKS)}")
    parser.add_argument("--seed", type=int, default=0, help="of the run, from which the members' are drawn")
    parser.add_argument("--seeds", type=int, default=10, help="how many members")
    asked = parser.parse_args()
    if asked.what in ("run", "sb3"):
        {"run": run, "sb3": sb3}[asked.what](asked.tasks, asked.seed, asked.seeds)
    else:
        {"table": table, "check": check, "power": power}[asked.what]()


if __name__ == "__main__":
    main()
