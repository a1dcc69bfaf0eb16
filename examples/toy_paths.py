"""What exploit and explore are each good for: the two-parameter problem of the PBT paper (arXiv 1711.09846, Figure 2).

The aim is to maximise Q = 1.2 - theta0^2 - theta1^2, but each of the two members starts with hyper-parameters that let
it see only one of the two parameters. Four methods are run; the table shows where each ends, the picture how it came there.

    python examples/toy_paths.py --picture toy_paths.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt

import evolute
from evolute.core.population import Population, Turn
from evolute.core.protocols import Plan
from evolute.strategies import explore
from evolute.strategies.evolution import Evolution

START = (0.9, 0.9)
STYLES = (("#56B4E9", 5), ("#D55E00", 1.8))
"""Colour and line width of each member; the first is wider, so that it shows below the other."""
GAP = (np.nan, np.nan)
"""A point that interrupts a line."""


def explore_only(plan: Plan) -> Evolution:
    """Every member is its own parent: it keeps its weights and changes its hyper-parameters."""

    def exploit(population: Population, scores: Any, ready: Sequence[int], rng: np.random.Generator) -> dict[int, int]:
        return {slot: slot for slot in ready}

    return Evolution(plan, exploit, explore.perturb(resample=0))


METHODS: dict[str, dict[str, Any]] = {
    "Grid search": {"pbt": {"exploit": "none", "explore": "none"}},
    "Exploit only": {"pbt": {"explore": "none"}},
    "Explore only": {"strategy": explore_only},
    "PBT": {},
}


def theta(turn: Turn | None) -> tuple[float, float]:
    """The parameters after a turn, or those that everyone starts with."""
    return START if turn is None else (turn.report.metrics["theta0"], turn.report.metrics["theta1"])


def q(turn: Turn | None) -> float:
    return 1.2 - sum(part**2 for part in theta(turn))


Lines = tuple[list[tuple[float, float]], list[tuple[float, float]]]


def lines(run: evolute.Run, slot: int) -> tuple[Lines, Lines]:
    """What a member did, in the plane and over steps: the solid line of its training, and the dotted jumps of its copies."""
    (path, copies), (curve, jumps) = ([START], []), ([(0.0, q(None))], [])
    step = 0
    for turn in reversed(list(run.population[slot].history())):
        if turn.parent is not turn.before:
            copies += [theta(turn.before), theta(turn.parent), GAP]
            jumps += [(step, q(turn.before)), (step, q(turn.parent)), GAP]
            path += [GAP, theta(turn.parent)]
            curve += [GAP, (step, q(turn.parent))]
        step += turn.report.steps
        path.append(theta(turn))
        curve.append((step, q(turn)))
    return (path, copies), (curve, jumps)


def draw(runs: dict[str, evolute.Run], picture: str) -> None:
    """One column per method: the members' paths through the plane, and Q over steps."""
    figure, axes = plt.subplots(2, len(runs), figsize=(13, 6.8), sharex="row", sharey="row", layout="constrained")
    grid = np.linspace(-0.05, 1, 200)
    height = 1.2 - grid[None] ** 2 - grid[:, None] ** 2
    for (method, run), (plane, curve) in zip(runs.items(), axes.T, strict=True):
        plane.contour(grid, grid, height, levels=np.arange(-0.6, 1.2, 0.2), colors="0.8", linestyles="solid", linewidths=0.8)
        plane.plot(*START, "s", color="black", label="start", zorder=3)
        plane.plot(0, 0, "*", color="black", markersize=12, label="optimum, Q = 1.2")
        for slot, (colour, width) in enumerate(STYLES):
            for axis, (solid, dotted) in zip((plane, curve), lines(run, slot), strict=True):
                axis.plot(*np.transpose(solid), color=colour, linewidth=width, label=f"member {slot}")
                axis.plot(*np.transpose(dotted or [GAP]), ":", color=colour, linewidth=1.5)
        plane.plot([], [], ":", color="black", label="a copy of weights")
        plane.set(title=f"{method}: Q = {run.best.score:.3f}", xlabel=r"$\theta_0$", aspect="equal")
        curve.axhline(1.2, color="0.5", linewidth=0.8, linestyle="--", zorder=0)
        curve.set(xlabel="steps of each member")
    axes[0, 0].set(ylabel=r"$\theta_1$")
    axes[1, 0].set(ylabel="Q")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    figure.savefig(picture, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", default="runs", help="the folder for the run folders")
    parser.add_argument("--picture", default="toy_paths.png", help="where to draw the paths")
    options = parser.parse_args()
    mpl.use("Agg")

    runs = {
        method: evolute.run(preset="toy", seed=options.seed, runs=options.runs, display="none", **settings)
        for method, settings in METHODS.items()
    }
    print("method         final Q   theta0   theta1")
    for method, run in runs.items():
        theta0, theta1 = run.best.state["theta"]
        print(f"{method:14} {run.best.score:7.4f}  {theta0:7.4f}  {theta1:7.4f}")
    draw(runs, options.picture)
    print(f"the paths are drawn in {options.picture}")


if __name__ == "__main__":
    main()
