"""A genetic algorithm: an archive of the best states, tournaments, crossover and mutation of hyper-parameters."""

from __future__ import annotations

from evolute.core.protocols import Plan
from evolute.strategies.breeding import Breeding, archive_size, best_of, tournament
from evolute.strategies.variation import Variation


def ga(
    plan: Plan,
    *,
    archive: int | None = None,
    crossover: float = 0.9,
    crossover_eta: float = 20.0,
    mutation: float | None = None,
    mutation_eta: float = 20.0,
) -> Breeding:
    """A genetic algorithm. Children train on from their first parent's state.

    The best `archive` states are parents, by default as many as there are members. Two are crossed with probability
    `crossover`, and each value then mutates with probability `mutation`, one over their number. The higher an eta is, the
    closer children are to their parents.
    """
    size = archive_size(plan, archive)
    vary = Variation(crossover, crossover_eta, mutation, mutation_eta)
    return Breeding(plan, best_of(plan, size), tournament(plan), vary, size)
