"""How an heir's hyper-parameters come from its parent's (PBT, arXiv 1711.09846, section 4.1.2).

Heirs of one parent in one decision differ from it and from each other wherever the space allows it: identical twins
would train the same agent twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from evolute.core.order import Hparams
from evolute.core.param import FACTORS
from evolute.core.population import Population
from evolute.core.space import Space
from evolute.strategies.exploit import Parents

Explore = Callable[[Space, Population, Parents, np.random.Generator], dict[int, dict[str, Any]]]
Mutate = Callable[[Space, Hparams, np.random.Generator], dict[str, Any]]
Child = dict[str, Any]
MUTATIONS = 10
TRIES = 500


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
        families: dict[int, set[str]] = {}
        for heir, parent in sorted(parents.items()):
            hparams = {name: _hparams(population, parent)[name] for name in space}
            family = families.setdefault(parent, {repr(hparams)})
            children[heir] = _unlike(family, space, partial(mutate, space, hparams), rng)
            family.add(repr(children[heir]))
        return children

    return explore


def _unlike(family: set[str], space: Space, mutate: Callable[[np.random.Generator], Child], rng: np.random.Generator) -> Child:
    """A mutation that equals nobody in the family, or else a fresh draw that does not, as long as the space has room."""
    child = mutate(rng)
    if len(family) >= space.points:
        return child
    for attempt in range(TRIES):
        if repr(child) not in family:
            break
        child = mutate(rng) if attempt < MUTATIONS else space.sample(rng)
    return child


def _hparams(population: Population, parent: int) -> Hparams:
    turn = population[parent].latest
    if turn is None:
        raise ValueError(f"member {parent} cannot be a parent: it has no state yet")
    return turn.order.hparams
