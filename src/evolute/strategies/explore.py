"""How an heir's hyper-parameters come from its parent's (PBT, arXiv 1711.09846, section 4.1.2).

Heirs of one parent in one decision differ from it and from each other wherever the space allows it: identical twins
would train the same agent twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evolute.core.order import Hparams
from evolute.core.population import Population
from evolute.core.space import FACTORS, Space
from evolute.strategies.exploit import Parents

Explore = Callable[[Space, Population, Parents, np.random.Generator], dict[int, dict[str, Any]]]
Mutate = Callable[[Space, Hparams, np.random.Generator], dict[str, Any]]
TRIES = 20


def perturb(resample: float = 0.25, factors: tuple[float, ...] = FACTORS) -> Explore:
    """Each hyper-parameter by itself: drawn anew with probability `resample`, else moved a little."""
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: is a probability, and must lie in [0, 1]")

    def mutate(space: Space, hparams: Hparams, rng: np.random.Generator) -> dict[str, Any]:
        return {
            name: param.sample(rng) if rng.random() < resample else param.perturb(hparams[name], rng, factors)
            for name, param in space.items()
        }

    return _each(mutate)


def redraw() -> Explore:
    """Every hyper-parameter drawn anew from the space."""
    return _each(lambda space, hparams, rng: space.sample(rng))


def copy() -> Explore:
    """The parent's hyper-parameters as they are."""
    return lambda space, population, parents, rng: {
        heir: dict(_hparams(population, parent)) for heir, parent in parents.items()
    }


def _each(mutate: Mutate) -> Explore:
    def explore(space: Space, population: Population, parents: Parents, rng: np.random.Generator) -> dict[int, dict[str, Any]]:
        children: dict[int, dict[str, Any]] = {}
        for heir, parent in sorted(parents.items()):
            hparams = {name: _hparams(population, parent)[name] for name in space}
            family = [hparams, *(children[other] for other in children if parents[other] == parent)]
            children[heir] = _unlike(family, space, mutate, rng)
        return children

    return explore


def _unlike(family: Sequence[Mapping[str, Any]], space: Space, mutate: Mutate, rng: np.random.Generator) -> dict[str, Any]:
    """A mutation of the first of the family that equals none of it; one drawn anew if the mutations are used up."""
    for attempt in range(TRIES):
        child = mutate(space, family[0], rng) if attempt < TRIES // 2 else space.sample(rng)
        if child not in family:
            break
    return child


def _hparams(population: Population, parent: int) -> Hparams:
    turn = population[parent].latest
    if turn is None:
        raise ValueError(f"member {parent} cannot be a parent: it has no state yet")
    return turn.order.hparams
