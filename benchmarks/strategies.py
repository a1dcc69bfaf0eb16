"""Which strategy is better, on which problem? Prints the tables of docs/strategies.md and draws their picture.

Every strategy gets the same seeds and the same budget on each problem, and sees noisy scores. What counts is the noise-free
value of the member it would choose at the end; on PPO, that member's mean return in fresh episodes. Differences to PBT
are paired by seed, with bootstrap intervals and p-values of a sign-flip test, corrected after Holm over all of them.

    python benchmarks/strategies.py                          # all problems; goes on where it was stopped
    python benchmarks/strategies.py drift triangle --seeds 5
    python benchmarks/strategies.py drift --first 2000       # on seeds that nobody has looked at
    python benchmarks/strategies.py --only-report            # the tables and the picture of what there is

A new problem or strategy is a line in PROBLEMS or STRATEGIES.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_suffix(".jsonl")
"""What has been measured so far; it is kept with the code."""
PICTURE = Path(__file__).parent.parent / "docs" / "strategies.png"
REFERENCE = "pbt"
RESAMPLES = 20_000
Values = dict[int, float]

STRATEGIES: dict[str, str] = {
    "random_search": "random search",
    "pbt": "PBT",
    "winner_takes_all": "winner takes all",
    "pbt_gaussian": "PBT, Gaussian steps",
    "pbt_pairwise": "PBT, pairwise",
    "mf_pbt": "MF-PBT",
    "ipbt": "IPBT",
    "ga": "GA",
    "pb2": "PB2",
    "pb2_rand": "PB2-Rand",
    "pb2_mult": "PB2-Mult",
    "pb2_mix": "PB2-Mix",
    "bg_pbt": "BG-PBT",
}
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "pbt_gaussian": ("pbt", {"explore": "gaussian"}),
    "pbt_pairwise": ("pbt", {"explore": "pairwise"}),
}
"""Strategies with other settings than their defaults."""
EVOLVING = ("random_search", "pbt", "pbt_gaussian", "pbt_pairwise", "winner_takes_all", "ipbt", "ga")
NUMBERS = (*EVOLVING, "pb2", "bg_pbt")
MIXED = (*EVOLVING, "pb2_rand", "pb2_mult", "pb2_mix", "bg_pbt")
LARGE = ("mf_pbt",)
"""Strategies that take 8 members or more."""
PPO_SPACE = {"lr": "log[1e-5, 1e-1]", "discount": "1-log[0.8, 0.9999]", "entropy": "[0, 0.1]", "clip": "[0.05, 0.5]"}


@dataclass(frozen=True)
class Problem:
    """How to run it, with which strategies, how many seeds, and what it is made of."""

    run: Callable[[Problem, str, int], dict[str, float]]
    strategies: tuple[str, ...]
    seeds: int = 60
    settings: dict[str, Any] = field(default_factory=dict)


def chosen(strategy: str) -> dict[str, Any]:
    """The settings that choose a strategy, or a variant of one."""
    name, settings = VARIANTS.get(strategy, (strategy, {}))
    return {"strategy": name, **({name: settings} if settings else {})}


def in_memory(problem: Problem, strategy: str, seed: int) -> dict[str, float]:
    """A run of one of the presets, judged by the noise-free value of the member with the best score."""
    from evolute.config.layers import preset, python, stack
    from evolute.config.resolve import resolved
    from evolute.core.population import best
    from evolute.core.protocols import Plan
    from evolute.core.solo import adapt
    from evolute.engines.inline import inline
    from evolute.testing.memory import rehearse

    name, population = problem.settings["preset"], problem.settings.get("population")
    config = resolved(stack([preset(name), python({**chosen(strategy), "population": population})]))
    fixed = {**config.learner.settings, **({"problem": seed} if "problem" in config.learner.settings else {})}
    settings, train = config.settings, config.learner.maker
    first = tuple({key: float(value) for key, value in row.items()} for row in settings.init.hparams)
    plan = Plan(config.space, settings.population, settings.interval, config.stop.turns, first)

    def learner(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> Any:
        return train(state, {**fixed, **hparams}, steps, seed)

    made = config.strategy.maker(plan, **config.strategy.settings)
    turns = config.stop.turns or 1
    done = rehearse(adapt(learner), made, plan, lambda worker: inline(worker, None), turns=turns, seed=seed)
    top = best(done.population)
    assert top is not None
    return {"value": float(top.report.metrics.get("true", top.score))}  # type: ignore[arg-type]


def ppo(problem: Problem, strategy: str, seed: int) -> dict[str, float]:
    """A run of PPO, judged by the mean return of the best member in fresh episodes, and by its score over the turns."""
    import evolute

    with tempfile.TemporaryDirectory() as folder:
        settings = {**chosen(strategy), **problem.settings}
        run = evolute.run("ppo", seed=seed, folder=Path(folder) / "run", display="none", **settings)
        returns = run.best.evaluate(seed=10_000 + seed, episodes=100) or []
        scores = [[turn.score for turn in member.history()][::-1] for member in run.population.members]
        area = float(np.nanmean(np.nanmax(np.array(scores, dtype=float), axis=0)))
    return {"value": float(np.mean(returns)), "area": area}


PROBLEMS = {
    "toy": Problem(in_memory, NUMBERS, settings={"preset": "toy"}),
    "deceptive": Problem(in_memory, (*NUMBERS, *LARGE), settings={"preset": "deceptive"}),
    "triangle": Problem(in_memory, NUMBERS, settings={"preset": "triangle"}),
    "drift": Problem(in_memory, NUMBERS, settings={"preset": "drift"}),
    "drift_mixed": Problem(in_memory, MIXED, settings={"preset": "drift_mixed"}),
    "drift_mixed, 8 members": Problem(in_memory, (*MIXED, *LARGE), settings={"preset": "drift_mixed", "population": 8}),
    "PPO on CartPole": Problem(
        ppo,
        NUMBERS,
        seeds=30,
        settings={"env": "CartPole-v1", "population": 4, "interval": 2048, "stop": {"turns": 25}, "space": PPO_SPACE},
    ),
}


def measured(task: tuple[str, str, int]) -> dict[str, Any]:
    name, strategy, seed = task
    started = time.process_time()
    found = PROBLEMS[name].run(PROBLEMS[name], strategy, seed)
    return {"problem": name, "strategy": strategy, "seed": seed, **found, "cpu": round(time.process_time() - started, 2)}


def known() -> list[dict[str, Any]]:
    return [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []


def run(names: list[str], strategies: list[str], seeds: int | None, first: int, jobs: int) -> None:
    """Everything that is not known yet, a line of results each, seed by seed so that a part of it is fair too."""
    done = {(row["problem"], row["strategy"], row["seed"]) for row in known()}
    tasks = [
        (name, strategy, seed)
        for name in names
        for seed in range(first, first + (seeds or PROBLEMS[name].seeds))
        for strategy in PROBLEMS[name].strategies
        if strategy in strategies and (name, strategy, seed) not in done
    ]
    with ProcessPoolExecutor(jobs) as pool, RESULTS.open("a") as out:
        for number, row in enumerate(pool.map(measured, tasks), 1):
            print(json.dumps(row), file=out, flush=True)
            print(f"{number}/{len(tasks)} {row['problem']}: {row['strategy']} {row['seed']} {row['value']:.4g}", flush=True)


@dataclass(frozen=True)
class Line:
    """A strategy on a problem: its mean, and its difference to the reference over the seeds that both have."""

    problem: str
    strategy: str
    seeds: int
    mean: float
    error: float
    difference: float = 0.0
    low: float = 0.0
    high: float = 0.0
    p: float = 1.0
    area: float | None = None


def lines(rows: list[dict[str, Any]]) -> list[Line]:
    """One line per problem and strategy, p-values corrected after Holm over all."""
    found = [line for name in PROBLEMS for line in _lines(name, [row for row in rows if row["problem"] == name])]
    compared = sorted((line for line in found if line.strategy != REFERENCE), key=lambda line: line.p)
    corrected: dict[tuple[str, str], float] = {}
    least = 0.0
    for rank, line in enumerate(compared):
        least = max(least, min(1.0, line.p * (len(compared) - rank)))
        corrected[line.problem, line.strategy] = least
    return [Line(**{**vars(line), "p": corrected.get((line.problem, line.strategy), 1.0)}) for line in found]


def _lines(name: str, rows: list[dict[str, Any]]) -> Iterator[Line]:
    by_strategy: dict[str, dict[int, dict[str, Any]]] = {}
    for row in rows:
        by_strategy.setdefault(row["strategy"], {})[row["seed"]] = row
    reference = by_strategy.get(REFERENCE, {})
    for strategy in PROBLEMS[name].strategies:
        seeds = sorted(by_strategy.get(strategy, {}).keys() & reference.keys())
        if len(seeds) < 2:
            continue
        own = by_strategy[strategy]
        values = np.array([own[seed]["value"] for seed in seeds])
        areas = [own[seed]["area"] for seed in seeds if "area" in own[seed]]
        line = partial(Line, name, strategy, len(seeds), float(values.mean()), float(values.std(ddof=1) / len(seeds) ** 0.5))
        area = float(np.mean(areas)) if areas else None
        yield line(**compared(values - np.array([reference[seed]["value"] for seed in seeds])), area=area)


def compared(differences: np.ndarray[Any, Any]) -> dict[str, float]:
    """The mean of paired differences, its bootstrap interval of 95 %, and the p-value of a sign-flip test."""
    rng = np.random.default_rng(0)
    count = len(differences)
    means = differences[rng.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    flipped = np.abs((rng.choice([-1.0, 1.0], size=(RESAMPLES, count)) * differences).mean(axis=1))
    p = (1 + np.sum(flipped >= abs(differences.mean()) - 1e-12)) / (1 + RESAMPLES)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"difference": float(differences.mean()), "low": float(low), "high": float(high), "p": float(p)}


def table(found: list[Line]) -> str:
    head = "| problem | strategy | seeds | mean ± s.e. | difference to PBT [95 %] | p (Holm) |\n|---|---|---|---|---|---|"
    return "\n".join([head, *map(_row, found)])


def _row(line: Line) -> str:
    area = "" if line.area is None else f", over the turns {line.area:.4g}"
    against = f"{line.difference:+.3g} [{line.low:+.3g}, {line.high:+.3g}]" if line.strategy != REFERENCE else ""
    p = "" if line.strategy == REFERENCE else "< 0.01" if line.p < 0.01 else f"{line.p:.2f}"
    strategy = f"**{STRATEGIES[line.strategy]}**" if line.p < 0.05 and line.difference > 0 else STRATEGIES[line.strategy]
    return f"| {line.problem} | {strategy} | {line.seeds} | {line.mean:.4g} ± {line.error:.2g}{area} | {against} | {p} |"


def draw(found: list[Line]) -> None:
    """A panel per problem: each strategy's paired difference to PBT with its interval."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(line.problem for line in found))
    columns = min(4, len(names))
    rows = -(-len(names) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(3.6 * columns, 2.6 * rows), squeeze=False, layout="constrained")
    for axis, name in zip(axes.flat, names, strict=False):
        shown = [line for line in found if line.problem == name and line.strategy != REFERENCE][::-1]
        for place, line in enumerate(shown):
            colour = "#888888" if line.p >= 0.05 else "#1a7f37" if line.difference > 0 else "#b3261e"
            axis.plot([line.low, line.high], [place, place], color=colour, lw=2.5, solid_capstyle="round")
            axis.plot(line.difference, place, "o", color=colour, ms=6)
        axis.axvline(0, color="black", lw=0.8, ls=":")
        axis.set_yticks(range(len(shown)), [STRATEGIES[line.strategy] for line in shown], fontsize=8)
        axis.set_ylim(-0.6, len(shown) - 0.4)
        seeds = f"{shown[0].seeds} seeds" if shown else ""
        axis.set_title(f"{name} ({seeds})", fontsize=9)
        axis.tick_params(axis="x", labelsize=8)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes.flat[len(names) :]:
        axis.set_visible(False)
    figure.suptitle("Paired difference to PBT, 95 % intervals; coloured where p < 0.05 after Holm's correction", fontsize=10)
    figure.savefig(PICTURE, dpi=130)
    pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help=f"of {', '.join(PROBLEMS)}")
    parser.add_argument("--strategies", nargs="*", default=list(STRATEGIES))
    parser.add_argument("--seeds", type=int, help="how many; by default as many as the problem says")
    parser.add_argument("--first", type=int, default=0, help="the first seed; the report leaves out those before it")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--only-report", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    if unknown := [name for name in asked.problems if name not in PROBLEMS]:
        parser.error(f"no problem {unknown[0]!r}; there are {', '.join(PROBLEMS)}")
    if asked.fresh:
        RESULTS.unlink(missing_ok=True)
    if not asked.only_report:
        run(asked.problems or list(PROBLEMS), asked.strategies, asked.seeds, asked.first, asked.jobs)
    found = lines([row for row in known() if row["seed"] >= asked.first])
    print(table(found))
    if found:
        draw(found)
        print(f"\npicture: {PICTURE}")


if __name__ == "__main__":
    main()
