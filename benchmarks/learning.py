"""Do our learners learn as they should? Trains five seeds of each task and prints the table of docs/explain/performance.md.

Each seed is a member of one population that inherits nothing, so all five train in one program. What is compared with the
goal is the mean return over 100 fresh episodes after training (60 games for Pong), with the likeliest action taken.

    python benchmarks/learning.py                 # all tasks that are installed here
    python benchmarks/learning.py CartPole Pong   # some
    python benchmarks/learning.py 'CartPole, free' --seeds 6
    python benchmarks/learning.py 'CartPole, A2C' 'CartPole, IMPALA' --seeds 12
    python benchmarks/learning.py 'CartPole, DQN' --seeds 20 --seed 1000 --set discount=0.99
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import evolute

RESULTS = Path(__file__).parent / "results" / "learning.json"


@dataclass(frozen=True)
class Task:
    """An environment, how long to train on it, with which settings, and what is expected."""

    env: str
    steps: int
    goal: float
    settings: dict[str, Any] = field(default_factory=dict)
    turns: int = 10
    episodes: int = 100
    wrap: dict[str, Any] = field(default_factory=dict)
    learner: str = "ppo"


MUJOCO = {
    "lr": 3e-4,
    "anneal": 1_000_000,
    "envs": 1,
    "unroll": 2048,
    "epochs": 10,
    "minibatches": 32,
    "normalize_obs": True,
    "normalize_reward": True,
    "entropy": 0.0,
}
PENDULUM = {"widths": [64, 64], "batch": 128, "lr": 1e-3, "warmup": 100}
TASKS = {
    "CartPole": Task(
        "CartPole-v1", 300_000, 500, {"lr": 1e-3, "anneal": 300_000, "entropy": 0.01, "discount": 0.98, "gae_lambda": 0.8}
    ),
    "Acrobot": Task(
        "gymnax:Acrobot-v1", 500_000, -100, {"lr": 1e-3, "anneal": 500_000, "gae_lambda": 0.94, "normalize_obs": True}
    ),
    "Pendulum": Task(
        "gymnax:Pendulum-v1",
        500_000,
        -250,
        {
            "lr": 1e-3,
            "anneal": 1_000_000,
            "discount": 0.9,
            "std": "state",
            "epochs": 10,
            "unroll": 256,
            "minibatches": 32,
            "normalize_obs": True,
            "normalize_reward": True,
        },
    ),
    "LunarLander": Task(
        "LunarLander-v3",
        983_040,
        200,
        {
            "lr": 3e-4,
            "discount": 0.999,
            "gae_lambda": 0.98,
            "entropy": 0.01,
            "envs": 16,
            "unroll": 1024,
            "minibatches": 256,
        },
    ),
    "MinAtar Breakout": Task(
        "gymnax:Breakout-MinAtar",
        491_520,
        5,
        {
            "network": "mlp",
            "lr": 2.5e-3,
            "anneal": 2_000_000,
            "entropy": 0.01,
            "envs": 32,
            "unroll": 64,
            "minibatches": 8,
            "widths": [128, 128],
            "activation": "relu",
        },
    ),
    "Pong": Task(
        "pong",
        2_498_560,
        0.9,
        {
            "lr": 2e-3,
            "anneal": 2_500_000,
            "entropy": 0.02,
            "discount": 0.985,
            "gae_lambda": 0.93,
            "envs": 16,
            "epochs": 6,
            "minibatches": 8,
        },
        episodes=60,
    ),
    "HalfCheetah": Task("HalfCheetah-v5", 993_280, float("nan"), MUJOCO, turns=5),
    "Pendulum, SAC": Task("gymnax:Pendulum-v1", 20_000, -200, PENDULUM, learner="sac"),
    "Pendulum, TD3": Task("gymnax:Pendulum-v1", 20_000, -200, PENDULUM, learner="td3"),
    "CartPole, DQN": Task("CartPole-v1", 100_000, 475, {"batch": 256, "tau": 0.005, "discount": 0.995}, learner="dqn"),
    "CartPole, A2C": Task("CartPole-v1", 131_072, 200, learner="a2c"),
    "CartPole, free": Task(
        "gym:CartPole-v1", 131_072, 450, {"pace": "free", "lr": 1e-3, "anneal": 131_072, "entropy": 0.01, "gae_lambda": 0.9}
    ),
    "CartPole, IMPALA": Task("CartPole-v1", 131_072, 200, learner="impala"),
    "CartPole, PG": Task("CartPole-v1", 131_072, 200, learner="pg"),
    "MinAtar Breakout, DQN": Task(
        "gymnax:Breakout-MinAtar", 500_000, 5, {"widths": [128], "explore": 100_000, "ratio": 0.25}, learner="dqn"
    ),
    "HalfCheetah, SAC": Task("HalfCheetah-v5", 200_000, float("nan"), learner="sac"),
    "Hopper": Task("Hopper-v5", 993_280, float("nan"), MUJOCO, turns=5),
}


def trained(task: Task, seeds: int, seed: int) -> dict[str, Any]:
    """The returns of each seed after training, and how fast it went."""
    interval = -(-task.steps // task.turns)
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        run = evolute.run(
            task.learner,
            env=task.env,
            strategy="random_search",
            population=seeds,
            interval=interval,
            stop={"turns": task.turns},
            seed=seed,
            folder=Path(folder) / "run",
            **{task.learner: task.settings},
        )
        seconds = time.perf_counter() - started
        curve = [[turn.score for turn in run.member(slot).lineage] for slot in range(seeds)]
        returns = [list(run.member(slot).evaluate(seed=1000 + slot, episodes=task.episodes) or []) for slot in range(seeds)]
        steps = sum(run.member(slot).turn.steps for slot in range(seeds))
    return {"returns": returns, "curve": curve, "steps_per_second": steps / seconds, "steps": steps // seeds}


def row(name: str, task: Task, found: dict[str, Any]) -> str:
    """One line of the table."""
    if name == "Pong":
        values = [float(np.mean(np.array(games) > 0)) for games in found["returns"]]
        shown, goal = [f"{value:.0%}" for value in values], f"wins ≥ {task.goal:.0%}"
    else:
        values = [float(np.mean(games)) for games in found["returns"]]
        shown, goal = [f"{value:.4g}" for value in values], "" if np.isnan(task.goal) else f"≥ {task.goal:g}"
    passed = "" if np.isnan(task.goal) else f"{sum(value >= task.goal for value in values)} of {len(values)}"
    cells = (name, f"`{task.env}`", f"{found['steps']:,}", goal, ", ".join(shown), f"{float(np.mean(values)):.4g}", passed)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", help=f"of {', '.join(TASKS)}")
    parser.add_argument("--seeds", type=int, default=5, help="how many")
    parser.add_argument("--seed", type=int, default=0, help="of the run, from which theirs are drawn")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="other settings of the learner, as JSON")
    asked = parser.parse_args()
    changed = {name: json.loads(value) for name, value in (one.split("=", 1) for one in asked.set)}
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    lines = []
    for name in asked.tasks or TASKS:
        task = replace(TASKS[name], settings={**TASKS[name].settings, **changed})
        results[name] = trained(task, asked.seeds, asked.seed)
        RESULTS.write_text(json.dumps(results))
        lines.append(row(name, task, results[name]))
        print(lines[-1], f"{results[name]['steps_per_second']:,.0f} steps/s", flush=True)
    print("\n| task | environment | steps | goal | return of each seed | mean | reached |\n|---|---|---|---|---|---|---|")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
