"""MAP-Elites (Mouret and Clune 2015, arXiv 1504.04909): the best state of each kind, by how members behave.

Metrics that say how a member behaves span a grid, and the archive has the best state of each of its cells. Parents are drawn
from all of them, so a run looks for what is different as much as for what is better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evolute.core.population import Turn, descent
from evolute.core.protocols import LinkError, Plan
from evolute.core.ranking import better
from evolute.strategies.breeding import Breeding, Survive, uniform
from evolute.strategies.variation import Variation

Cell = tuple[int, ...]


@dataclass(frozen=True)
class Steps:
    """A metric's range, and into how many equal parts it is cut."""

    low: float
    high: float
    count: int

    def place(self, value: float) -> int:
        """Which part a value is in; values outside belong to the first or last."""
        return min(max(int((value - self.low) / (self.high - self.low) * self.count), 0), self.count - 1)


def map_elites(
    plan: Plan,
    *,
    cells: dict[str, tuple[float, ...]] | None = None,
    crossover: float = 0.9,
    crossover_eta: float = 20.0,
    mutation: float | None = None,
    mutation_eta: float = 20.0,
) -> Breeding:
    """MAP-Elites. `cells` says for each metric that members differ in: lowest, highest, number of cells.

    The other settings are as in `ga`.
    """
    if not cells:
        raise ValueError("cells: name the metrics that members are to differ in, as in map_elites.cells.busy=[0, 1, 10]")
    for name, one in cells.items():
        if len(one) != 3 or not one[0] < one[1] or one[2] < 1 or one[2] != int(one[2]):
            raise ValueError(f"cells.{name}={list(one)}: give [lowest, highest, number of cells], such as [0, 1, 10]")
    steps = {name: Steps(one[0], one[1], int(one[2])) for name, one in cells.items()}
    vary = Variation(crossover, crossover_eta, mutation, mutation_eta)
    return Breeding(plan, best_of_cells(steps), uniform, vary, math.prod(one.count for one in steps.values()))


def best_of_cells(steps: Mapping[str, Steps]) -> Survive:
    """The state with the highest score of each cell, by cell; of equals the one that came first."""

    def survive(turns: Sequence[Turn]) -> list[Turn]:
        elites: dict[Cell, Turn] = {}
        for turn in turns:
            cell = cell_of(turn, steps)
            if cell is not None and (cell not in elites or better(turn.score, elites[cell].score)):
                elites[cell] = turn
        return [elites[cell] for cell in sorted(elites)]

    return survive


def cell_of(turn: Turn, steps: Mapping[str, Steps]) -> Cell | None:
    """The cell of a state, or of the one it continued where no episode ended; None if that is not known yet."""
    for one in descent(turn):
        metrics = one.report.metrics
        if one.order.why.get("event") == "import":
            return None
        if missing := [name for name in steps if name not in metrics]:
            known = ", ".join(sorted(metrics))
            raise LinkError(f"map_elites.cells names the metric {missing[0]!r}, and this learner reports {known}")
        values = [metrics[name] for name in steps]
        places = [step.place(value) for step, value in zip(steps.values(), values, strict=True) if value is not None]
        if len(places) == len(steps):
            return tuple(places)
    return None
