"""The strategies that breed, on functions whose answers are known: ZDT1 and ZDT2, Shubert's function, and cells to be filled.

Each evaluation is a turn of a run in memory, through the real loop. Where pymoo is installed its NSGA-II gets the same budget
in the same run; hypervolumes are those of minimisation, with 1.1, 1.1 as the reference.

    python benchmarks/breeding.py                  # all, some minutes of processor time
    python benchmarks/breeding.py shubert cells
    PYTHONPATH=src python benchmarks/breeding.py zdt   # in a venv with pymoo cloudpickle gymnasium

It fails if a figure is lower than it should be.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evolute.core.param import Float
from evolute.core.pareto import hypervolume
from evolute.core.population import best
from evolute.core.protocols import Plan, Strategy
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.inline import inline
from evolute.strategies.ga import ga
from evolute.strategies.map_elites import Steps, cell_of, map_elites
from evolute.strategies.nsga2 import nsga2
from evolute.testing.memory import Rehearsal, rehearse

VARIABLES = 30
HIGHEST = {"zdt1": 0.8767, "zdt2": 0.5433}
"""The hypervolume of the whole front."""
LEAST = {"zdt1": 0.985, "zdt2": 0.98}
"""The share of it that must be reached."""
CELLS = {"u": (0.0, 1.0, 10), "v": (0.0, 1.0, 10)}


def run(train: Callable[..., Any], make: Callable[[Plan], Strategy], plan: Plan, turns: int, seed: int) -> Rehearsal:
    """A run in memory."""
    return rehearse(adapt(train), make(plan), plan, lambda worker: inline(worker, None), turns=turns, seed=seed)


def zdt(name: str) -> Callable[..., Any]:
    """ZDT1 or ZDT2 (Zitzler, Deb and Thiele 2000) as a learner that learns nothing: a turn is an evaluation."""

    def train(state: Any, hparams: dict[str, float], steps: int, seed: int) -> Any:
        x = np.fromiter(hparams.values(), dtype=float)
        g = 1 + 9 * x[1:].mean()
        ratio = x[0] / g
        return None, {"f1": float(x[0]), "f2": float(g * (1 - (ratio**0.5 if name == "zdt1" else ratio**2)))}

    return train


def nsga2_on(name: str, seed: int, members: int = 100, turns: int = 250) -> float:
    """The hypervolume that NSGA-II reaches with as many evaluations as members times turns."""
    space = Space({f"x{number}": Float(0.0, 1.0) for number in range(VARIABLES)})
    plan = Plan(space, members, 1, turns, objectives=("-f1", "-f2"))
    done = run(zdt(name), nsga2, plan, turns, seed)
    return hypervolume(np.array([turn.objectives for turn in done.population.candidates]), (-1.1, -1.1))


def pymoo_on(name: str, seed: int, members: int = 100, turns: int = 250) -> float | None:
    """The same by pymoo; None if it is not installed."""
    try:
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.optimize import minimize
        from pymoo.problems import get_problem
    except ImportError:
        return None
    found = minimize(get_problem(name), NSGA2(pop_size=members), ("n_gen", turns), seed=seed)
    return hypervolume(-found.F, (-1.1, -1.1))


def shubert(state: Any, hparams: dict[str, float], steps: int, seed: int) -> Any:
    """Shubert's function turned around: 760 local optima, 18 of them with 186.73, the highest."""
    i = np.arange(1, 6)
    return None, {"score": -float(np.prod([np.sum(i * np.cos((i + 1) * x + i)) for x in hparams.values()]))}


def ga_on_shubert(seed: int, members: int = 50, turns: int = 60) -> float:
    """The best value that the genetic algorithm finds."""
    plan = Plan(Space({"x": Float(-10.0, 10.0), "y": Float(-10.0, 10.0)}), members, 1, turns)
    top = best(run(shubert, ga, plan, turns, seed).population)
    assert top is not None
    assert top.score is not None
    return top.score


def planted(state: Any, hparams: dict[str, float], steps: int, seed: int) -> Any:
    """How members behave follows from what they are, unevenly, and the score prefers one corner: most cells are rare."""
    u, v = hparams["x"] ** 3, hparams["y"] ** 3
    return None, {"u": u, "v": v, "score": -u - v}


def cells_filled(make: Callable[[Plan], Strategy], seed: int, members: int = 20, turns: int = 100) -> int:
    """How many of the 100 cells have a state in the end, for a strategy with room for as many."""
    plan = Plan(Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}), members, 1, turns)
    steps = {name: Steps(*one) for name, one in CELLS.items()}
    done = run(planted, make, plan, turns, seed)
    return len({cell_of(turn, steps) for turn in done.population.candidates})


def report_zdt(seeds: Sequence[int]) -> bool:
    """Hypervolumes as shares of the highest, beside pymoo's."""
    good = True
    print("| problem | NSGA-II here | pymoo |\n|---|---|---|")
    for name, highest in HIGHEST.items():
        ours = float(np.mean([nsga2_on(name, seed) for seed in seeds])) / highest
        others = [pymoo_on(name, seed) for seed in seeds]
        theirs = None if None in others else float(np.mean([one for one in others if one is not None])) / highest
        print(f"| {name.upper()} | {ours:.4f} | {'not installed' if theirs is None else f'{theirs:.4f}'} |", flush=True)
        good = good and ours >= LEAST[name] and (theirs is None or ours * highest >= theirs * highest - 0.005)
    return good


def report_shubert(seeds: Sequence[int]) -> bool:
    values = [ga_on_shubert(seed) for seed in seeds]
    print(f"ga on Shubert's function, 3,000 evaluations, {len(values)} seeds: least {min(values):.2f} of 186.73", flush=True)
    return min(values) > 186


def report_cells(seeds: Sequence[int]) -> bool:
    elites = [cells_filled(lambda plan: map_elites(plan, cells=CELLS), seed) for seed in seeds]
    others = [cells_filled(lambda plan: ga(plan, archive=100), seed) for seed in seeds]
    print(
        f"cells filled of 100, 2,000 evaluations: map_elites {min(elites)} to {max(elites)}, ga {min(others)} to {max(others)}"
    )
    return min(elites) == 100


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("checks", nargs="*", default=["zdt", "shubert", "cells"])
    arguments.add_argument("--seeds", type=int)
    asked = arguments.parse_args()
    reports = {"zdt": (report_zdt, 3), "shubert": (report_shubert, 20), "cells": (report_cells, 5)}
    good = [reports[check][0](range(asked.seeds or reports[check][1])) for check in asked.checks]
    if not all(good):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
