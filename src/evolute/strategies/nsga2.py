"""NSGA-II (Deb et al. 2002): a genetic algorithm for several objectives, whose archive is the best fronts so far."""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.breeding import Breeding
from evolute.strategies.ga import ga


def nsga2(
    plan: Plan,
    *,
    archive: int | None = None,
    crossover: float = 0.9,
    crossover_eta: float = 20.0,
    mutation: float | None = None,
    mutation_eta: float = 20.0,
) -> Breeding:
    """NSGA-II. States survive by front, and on the last front that has room by crowding distance. Settings as in `ga`."""
    if not plan.objectives:
        raise ValueError("has several objectives, and none are set: objectives=[a, b]; strategy=ga maximises one score")
    return ga(
        plan,
        archive=archive,
        crossover=crossover,
        crossover_eta=crossover_eta,
        mutation=mutation,
        mutation_eta=mutation_eta,
    )
