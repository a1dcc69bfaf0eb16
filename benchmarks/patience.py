"""Is greed right? How often the control group rings, and what patient strategies gain and cost: tables of docs/strategies.md.

The control group is a sixth of the members; an alarm is a run in which its best has led for five turns. Patient strategies are
compared with PBT and random search, paired by seed, by the noise-free value of the member with the best score; p-values are
those of a sign-flip test.

    python benchmarks/patience.py                 # all of it; goes on where it was stopped
    python benchmarks/patience.py control mf_pbt ipbt --seeds 5
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from strategies import compared

RESULTS = Path(__file__).parent / "results" / "patience.jsonl"


class Case(NamedTuple):
    """A population on a problem, and the strategies to try; `control` is how many members are left alone."""

    part: str
    preset: str
    population: int
    strategies: tuple[str, ...]
    control: int = 0
    seeds: int = 30


CASES = [
    *(
        Case("control", preset, size, ("pbt",), size // 6, 40)
        for preset, size in (
            ("deceptive", 22),
            ("drift", 12),
            ("drift", 24),
            ("triangle", 12),
            ("triangle", 24),
            ("drift_mixed", 12),
            ("drift_mixed", 24),
        )
    ),
    Case("mf_pbt", "deceptive", 22, ("random_search", "pbt", "mf_pbt", "mf_pbt alone")),
    Case("mf_pbt", "drift", 12, ("random_search", "pbt", "mf_pbt")),
    Case("mf_pbt", "drift", 24, ("random_search", "pbt", "mf_pbt")),
    Case("mf_pbt", "triangle", 12, ("random_search", "pbt", "mf_pbt")),
    Case("mf_pbt", "triangle", 24, ("random_search", "pbt", "mf_pbt")),
    Case("ipbt", "deceptive", 22, ("random_search", "pbt", "ipbt")),
    Case("ipbt", "drift", 22, ("random_search", "pbt", "ipbt")),
    Case("ipbt", "triangle", 22, ("random_search", "pbt", "ipbt")),
    Case("ipbt", "triangle", 4, ("random_search", "pbt", "ipbt")),
]


def measured(task: tuple[str, str, int, str, int, int]) -> dict[str, Any]:
    """One run in memory: the noise-free value of its best, and at which turn the control group rang."""
    from evolute.config.layers import preset as preset_of
    from evolute.config.layers import python, stack
    from evolute.config.resolve import resolved
    from evolute.core.order import CONTROL_AHEAD
    from evolute.core.population import best
    from evolute.core.protocols import Plan
    from evolute.core.solo import adapt
    from evolute.engines.inline import inline
    from evolute.strategies.controlled import Controlled, evolving_plan
    from evolute.testing.memory import rehearse

    _, preset, population, strategy, control, seed = task
    name, variant = (*strategy.split(" "), "")[:2]
    config = resolved(stack([preset_of(preset), python({"strategy": name, "population": population})]))
    fixed = {**config.learner.settings, **({"problem": seed} if "problem" in config.learner.settings else {})}
    settings, train = config.settings, config.learner.maker
    plan = Plan(config.space, population, settings.interval, config.stop.turns)

    def learner(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> Any:
        return train(state, {**fixed, **hparams}, steps, seed)

    options = {**config.strategy.settings, **({"migrate": False} if variant == "alone" else {})}
    made = config.strategy.maker(evolving_plan(plan, control) if control else plan, **options)
    made = Controlled(plan, made, control) if control else made
    done = rehearse(adapt(learner), made, plan, lambda worker: inline(worker, None), turns=config.stop.turns or 1, seed=seed)
    top = best(done.population)
    assert top is not None
    rung = next((o.turn for d in done.journal.decisions for o in d if CONTROL_AHEAD in o.why), None)
    value = float(top.report.metrics.get("true", top.score))  # type: ignore[arg-type]
    return {"task": list(task), "value": value, "rung": rung}


def tasks(parts: list[str], seeds: int | None, first: int) -> Iterator[tuple[str, str, int, str, int, int]]:
    for case in CASES:
        if case.part in parts:
            for seed in range(first, first + (seeds or case.seeds)):
                for strategy in case.strategies:
                    yield case.part, case.preset, case.population, strategy, case.control, seed


def known() -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    return {tuple(row["task"]): row for row in rows}


def report(found: dict[tuple[Any, ...], dict[str, Any]]) -> Iterator[str]:
    for case in CASES:
        rows = {
            strategy: {task[5]: row for task, row in found.items() if task[:5] == (*case[:3], strategy, case.control)}
            for strategy in case.strategies
        }
        title = f"{case.preset}, {case.population} members"
        if case.part == "control" and rows["pbt"]:
            rung = [row["rung"] for row in rows["pbt"].values() if row["rung"] is not None]
            when = f", median turn {np.median(rung):.0f}" if rung else ""
            yield f"| {title}, control={case.control} | rings in {len(rung)} of {len(rows['pbt'])}{when} |"
        elif case.part != "control":
            yield from _compared(case, title, rows)


def _compared(case: Case, title: str, rows: dict[str, dict[int, dict[str, Any]]]) -> Iterator[str]:
    for strategy, own in rows.items():
        seeds = sorted(own.keys() & rows["pbt"].keys() & rows["random_search"].keys())
        if len(seeds) < 2:
            continue
        values = np.array([own[seed]["value"] for seed in seeds])
        cells = [f"{values.mean():.4g} ± {values.std(ddof=1) / len(seeds) ** 0.5:.2g}"]
        for reference in ("pbt", "random_search", *(one for one in case.strategies if one == case.part)):
            other = compared(values - np.array([rows[reference].get(seed, own[seed])["value"] for seed in seeds]))
            p = f"p {other['p']:.2g}" if reference != strategy else ""
            cells.append(f"{other['difference']:+.3g} [{other['low']:+.3g}, {other['high']:+.3g}] {p}" if p else "")
        yield f"| {title}, {len(seeds)} seeds | {strategy} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = list(dict.fromkeys(case.part for case in CASES))
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(parts)}")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only-report", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    found = known()
    left = (
        []
        if asked.only_report
        else [task for task in tasks(asked.parts or parts, asked.seeds, asked.first) if task not in found]
    )
    RESULTS.parent.mkdir(exist_ok=True)
    with ProcessPoolExecutor(asked.jobs) as pool, RESULTS.open("a") as out:
        for row in pool.map(measured, left):
            print(json.dumps(row), file=out, flush=True)
    shown = {task: row for task, row in known().items() if task[5] >= asked.first}
    print("\n".join(report(shown)))


if __name__ == "__main__":
    main()
