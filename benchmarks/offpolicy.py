"""Do SAC and TD3 learn as well as Stable-Baselines3's, and is it worth evolving their settings?

    python benchmarks/offpolicy.py run HalfCheetah SAC --seeds 100 101 102 103    # ours, all of these in one program
    python benchmarks/offpolicy.py sb3 HalfCheetah SAC --seeds 100 101 102 103    # theirs, a process for each
    python benchmarks/offpolicy.py run Hopper TD3 --width 64 --batch 64 --seeds 100 101 102 103 104
    python benchmarks/offpolicy.py pbt Pendulum --seeds 200 201 202 203 204       # PBT and random search with equal budgets
    python benchmarks/offpolicy.py pbt 'Pendulum, wider' --seeds 300 301 302 303 304
    python benchmarks/offpolicy.py pbt 'HalfCheetah, small' --seeds 200 201 202 203 204
    python benchmarks/offpolicy.py table

`run` and `sb3` have the same environments, budgets and settings, which are our defaults, or smaller networks and batches, with
which an SB3 seed takes a quarter of the time. Of each seed the mean return over
fresh episodes counts (20 of MuJoCo's, 100 of Pendulum's), with the likeliest action and the last policy. Seeds of `run` that
are still missing train as members of one population that inherits nothing, whose own seed is the first of them: so which
others were asked for decides what a seed is.

`pbt` draws learning rate and discount from wide ranges for 8 members, as somebody would who knows roughly what is usual, or
from wider ones, as somebody who does not. `best` is the member that the run itself chose, `mean`
the whole population, both in fresh episodes on other seeds than those that chose.

Results are lines of `offpolicy.jsonl` beside this file. A seed that is there is not trained again. A run of ours that was
stopped is resumed by the same command; a seed of SB3's starts over.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from kept import Kept, Result
from learning import PENDULUM

import evolute
from evolute.report.data.compare import Estimate, estimated, improvement, iqm

KEPT = Kept(Path(__file__).with_suffix(".jsonl"))
RUNS = Path(__file__).parent / "results" / "offpolicy"
PEER = Path(__file__).parent / "peers" / "sb3_offpolicy.py"
JUDGING = 1_000_000
"""Fresh episodes have seeds from here on."""
TURNS = 10
MEMBERS = 8
WIDE = {"lr": "log[1e-5, 1e-2]", "discount": "1-log[0.9, 0.999]"}
WIDER = {"lr": "log[1e-6, 1e-1]", "discount": "1-log[0.5, 0.9999]"}
STRATEGIES = ("pbt", "random_search")
SETTINGS = ("steps", "unroll", "width", "batch")
"""What `run` and `sb3` can be asked for besides task, algorithm and seeds."""


@dataclass(frozen=True)
class Task:
    """An environment, how many episodes judge a policy in it, and how long PBT trains a member with which settings."""

    env: str
    episodes: int
    steps: int
    interval: int
    settings: dict[str, Any] = field(default_factory=dict)
    ranges: dict[str, str] = field(default_factory=lambda: WIDE)


TASKS = {
    "HalfCheetah": Task("HalfCheetah-v5", 20, 200_000, 10_000),
    "Hopper": Task("Hopper-v5", 20, 200_000, 10_000),
    "HalfCheetah, small": Task("HalfCheetah-v5", 20, 100_000, 5_000, {"widths": [64, 64], "batch": 64}),
    "Hopper, small": Task("Hopper-v5", 20, 100_000, 5_000, {"widths": [64, 64], "batch": 64}),
    "Pendulum": Task("gymnax:Pendulum-v1", 100, 20_000, 2_000, PENDULUM),
    "Pendulum, wider": Task("gymnax:Pendulum-v1", 100, 20_000, 1_000, PENDULUM, WIDER),
}
MUJOCO = ("HalfCheetah", "Hopper")


def trained(task: Task, asked: Result, seeds: Sequence[int]) -> None:
    """Ours: a member for each seed."""
    learner, interval = asked["algorithm"].lower(), -(-asked["steps"] // TURNS)
    name = "-".join(str(value) for value in (*asked.values(), *seeds))
    started = time.perf_counter()
    run = evolute.run(
        learner,
        env=task.env,
        strategy="random_search",
        population=len(seeds),
        interval=interval,
        stop={"turns": TURNS},
        seed=seeds[0],
        folder=RUNS / name,
        display="none",
        **{learner: {"unroll": asked["unroll"], "widths": [asked["width"]] * 2, "batch": asked["batch"]}},
    )
    seconds = round(time.perf_counter() - started, 1)
    for slot, seed in enumerate(seeds):
        member = run.member(slot)
        returned = fresh_return(member, task, seed)
        KEPT.add({**asked, "seed": seed, "return": returned, "trained": len(seeds), "seconds": seconds})


def fresh_return(member: Any, task: Task, seed: int) -> float:
    """The mean return of a member's policy on seeds of no other episode."""
    return round(float(np.mean(member.evaluate(seed=JUDGING + seed, episodes=task.episodes) or [])), 2)


def run(options: argparse.Namespace) -> None:
    asked = asked_for("ours", options)
    if seeds := KEPT.missing(asked, options.seeds):
        trained(TASKS[options.task], asked, seeds)


def asked_for(code: str, options: argparse.Namespace) -> Result:
    names = {"task": options.task, "algorithm": options.algorithm, "code": code}
    return {**names, **{name: getattr(options, name) for name in SETTINGS}}


def sb3(options: argparse.Namespace) -> None:
    """Stable-Baselines3's, some processes at a time."""
    asked = asked_for("sb3", options)
    with ThreadPoolExecutor(options.processes) as threads:
        jobs = [threads.submit(trained_by_sb3, asked, seed) for seed in KEPT.missing(asked, options.seeds)]
        for job in as_completed(jobs):
            KEPT.add(job.result())


def trained_by_sb3(asked: Result, seed: int) -> Result:
    task, given = TASKS[asked["task"]], {"seed": seed, **{name: asked[name] for name in ("algorithm", *SETTINGS)}}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    command = [sys.executable, str(PEER), "--env", task.env, "--episodes", str(task.episodes), *options]
    ended = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    return {**asked, "seed": seed, "return": found["return"], "trained": 1, "seconds": found["seconds"]}


def pbt(options: argparse.Namespace) -> None:
    """Both strategies for each seed, so that a few seeds are already a comparison."""
    for seed in options.seeds:
        for strategy in STRATEGIES:
            asked = {"task": options.task, "strategy": strategy, "steps": options.steps or TASKS[options.task].steps}
            if KEPT.missing(asked, [seed]):
                KEPT.add(searched(TASKS[options.task], asked, seed))


def searched(task: Task, asked: Result, seed: int) -> Result:
    """A population with wide ranges, and what its members are worth in fresh episodes."""
    started = time.perf_counter()
    run = evolute.run(
        "sac",
        env=task.env,
        strategy=asked["strategy"],
        population=MEMBERS,
        interval=min(task.interval, asked["steps"]),
        stop={"steps": asked["steps"]},
        seed=seed,
        folder=RUNS / "-".join(str(value) for value in ("search", *asked.values(), seed)),
        display="none",
        sac={**task.settings, **task.ranges},
    )
    seconds = round(time.perf_counter() - started, 1)
    members = [run.member(slot) for slot in range(MEMBERS)]
    returns = [fresh_return(member, task, seed) for member in members]
    values = [{name: float(f"{member.hparams[name]:.3g}") for name in task.ranges} for member in members]
    best = returns[run.best.member]
    return {**asked, "seed": seed, "best": best, "returns": returns, "values": values, "seconds": seconds}


def table() -> None:
    """Everything measured so far."""
    learnt = KEPT.grouped(("task", "algorithm", *SETTINGS, "code"))
    settings = " | ".join(SETTINGS)
    print(f"| task | algorithm | {settings} | code | seeds | return of each | mean | interquartile mean (95 %) |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for key, results in learnt.items():
        returns = np.array([one["return"] for one in results])
        each = ", ".join(f"{value:.0f}" for value in sorted(returns, reverse=True))
        print(f"| {' | '.join(map(str, key))} | {len(returns)} | {each} | {returns.mean():.0f} | {interval(returns)} |")
    beside_sb3()
    print("\n| task | steps | strategy | seeds | best member of each | its mean | mean of all members | PBT's best is better |")
    print("|---|---|---|---|---|---|---|---|")
    searches = KEPT.grouped(("task", "steps", "strategy"))
    for key, results in searches.items():
        best = np.array([one["best"] for one in results])
        each = ", ".join(f"{value:.0f}" for value in sorted(best, reverse=True))
        everybody = np.mean([one["returns"] for one in results])
        cells = f"{len(best)} | {each} | {best.mean():.1f} | {everybody:.1f} | {compared(searches, key, best)}"
        print(f"| {' | '.join(map(str, key))} | {cells} |")


def beside_sb3() -> None:
    """Evolute's returns as a share of Stable-Baselines3's, and how probable it is that a run of Evolute's ends higher."""
    learnt, pairs = KEPT.grouped(("task", "algorithm", *SETTINGS, "code")), []
    print("\n| task | algorithm | seeds | mean return as a share of SB3's (95 %) | ends higher (95 %) |\n|---|---|---|---|---|")
    for key, results in learnt.items():
        others = learnt.get((*key[:-1], "sb3"), [])
        if key[-1] != "ours" or not others:
            continue
        pair = [np.array([one["return"] for one in arm]) for arm in (results, others)]
        pairs.append(pair)
        print(f"| {' | '.join(map(str, key[:2]))} | {len(pair[0])} and {len(pair[1])} | {judged([pair])} |")
    if pairs:
        seeds = " and ".join(str(sum(map(len, arms))) for arms in zip(*pairs, strict=True))
        print(f"| all of these | | {seeds} | {judged(pairs)} |")


def judged(pairs: Sequence[Sequence[Any]]) -> str:
    """Two cells: the means over pairs of arms, in which each pair counts the same."""

    def over_pairs(figure: Any) -> Any:
        return lambda *arms: float(np.mean([figure(*pair) for pair in zip(arms[::2], arms[1::2], strict=True)]))

    arms = [arm for pair in pairs for arm in pair]
    share = estimated(over_pairs(lambda ours, theirs: ours.mean() / theirs.mean()), *arms)
    return f"{shown(share, '.2f')} | {shown(estimated(over_pairs(improvement), *arms), '.0%')}"


def shown(found: Estimate, form: str) -> str:
    """An estimate with its interval, if it has one."""
    between = "" if found.low is None else f" ({found.low:{form}} to {found.high:{form}})"
    return f"{found.value:{form}}{between}"


def interval(returns: Any) -> str:
    return shown(estimated(iqm, returns), ".0f")


def compared(searches: dict[tuple[Any, ...], list[Result]], key: tuple[Any, ...], best: Any) -> str:
    """How probable it is that PBT ends better than this arm."""
    task, steps, strategy = key
    others = searches.get((task, steps, "pbt"), [])
    if strategy == "pbt" or not others:
        return ""
    return shown(estimated(improvement, np.array([one["best"] for one in others]), best), ".0%")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    for name in ("run", "sb3"):
        arm = commands.add_parser(name)
        arm.add_argument("task", choices=MUJOCO)
        arm.add_argument("algorithm", choices=["SAC", "TD3"])
        arm.add_argument("--steps", type=int, default=200_000)
        arm.add_argument("--unroll", type=int, default=8, help="steps before each round of as many updates")
        arm.add_argument("--width", type=int, default=256, help="units of the two hidden layers of each network")
        arm.add_argument("--batch", type=int, default=256)
        arm.add_argument("--seeds", type=int, nargs="+", required=True)
    commands.choices["sb3"].add_argument("--processes", type=int, default=os.cpu_count())
    search = commands.add_parser("pbt")
    search.add_argument("task", choices=list(TASKS), nargs="?", default="Pendulum")
    search.add_argument("--steps", type=int, help="of each member")
    search.add_argument("--seeds", type=int, nargs="+", required=True)
    commands.add_parser("table")
    options = parser.parse_args()
    if options.what == "table":
        table()
    else:
        {"run": run, "sb3": sb3, "pbt": pbt}[options.what](options)


if __name__ == "__main__":
    main()
