"""How an heir's hyper-parameters come from its parent's (PBT, arXiv 1711.09846, section 4.1.2).

Heirs of one parent in one decision differ from it and from each other wherever the space allows it: identical twins
would train the same agent twice.

A rule may remember something until the next decision: it is given its memory, {} at first, and returns the new one, JSON
both. Its reasons for an heir's values go into the heir's order, and so into the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.param import FACTORS, SPREAD, Choice, Int, Ordinal, Param
from evolute.core.population import Population
from evolute.core.space import Space
from evolute.strategies.exploit import Parents

Child = dict[str, Any]
Mutate = Callable[[Space, Hparams, np.random.Generator], Child]
MUTATIONS = 10
TRIES = 500


@dataclass(frozen=True)
class Explored:
    """The hyper-parameters of each heir, why it got them, and what the rule remembers."""

    children: dict[int, Child]
    why: Mapping[int, Mapping[str, Json]] = field(default_factory=dict)
    memory: Json = field(default_factory=dict)


Explore = Callable[[Space, Population, Parents, np.random.Generator, Json], Explored]


def perturb(resample: float = 0.25, factors: tuple[float, ...] = FACTORS) -> Explore:
    """Each hyper-parameter by itself: redrawn with probability `resample`, else moved a little."""
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")

    return _each(partial(perturbed, resample=resample, factors=factors))


def perturbed(
    space: Space, hparams: Hparams, rng: np.random.Generator, *, resample: float = 0.25, factors: tuple[float, ...] = FACTORS
) -> Child:
    """Hyper-parameters near those given, each redrawn with probability `resample`."""
    return {
        name: param.sample(rng) if rng.random() < resample else param.perturb(hparams[name], rng, factors)
        for name, param in space.items()
    }


def gaussian(resample: float = 0.25, spread: float = SPREAD) -> Explore:
    """Each by itself: redrawn with probability `resample`, else a number takes a normal step, and a category stays.

    The step has a standard deviation of `spread` of the range, on the parameter's own scale: a factor of 1.2 is little where
    values differ by a factor of 1,000, and a lot where they differ by 2. A category that changed with every other heir would
    be lost with the numbers that were found for it.
    """
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")

    def mutate(space: Space, hparams: Hparams, rng: np.random.Generator) -> Child:
        return {
            name: param.sample(rng) if rng.random() < resample else _stepped(param, hparams[name], spread, rng)
            for name, param in space.items()
        }

    return _each(mutate)


def _stepped(param: Param, value: Any, spread: float, rng: np.random.Generator) -> Any:
    """A value near this one on its parameter's own scale; whole numbers and ordinals move by at least one."""
    if isinstance(param, Choice):
        return value
    if isinstance(param, Ordinal):
        return param.perturb(value, rng)
    step = rng.normal(0, spread)
    new = param.decode(min(1.0, max(0.0, param.encode(value) + step)))
    return param.clip(value + (1 if step > 0 else -1)) if isinstance(param, Int) and new == value else new


def redraw() -> Explore:
    """Every hyper-parameter redrawn from the space."""
    return _each(lambda space, hparams, rng: space.sample(rng))


def pairwise(resample: float = 0.25) -> Explore:
    """Each number moves from the heir's own value towards its parent's, with momentum (GPBT-PL, arXiv 2404.08233).

    Its velocity in the unit cube is remembered from one time that a slot inherits to the next. Categories are the parent's.
    With probability `resample`, each by itself is drawn again and forgets its velocity.
    """
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")

    def explore(space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json) -> Explored:
        velocities = dict(memory)
        children: dict[int, Child] = {}
        for heir, parent in sorted(parents.items()):
            fast = _hparams(population, parent)
            slow = fast if population[heir].latest is None else _hparams(population, heir)
            before = velocities.get(str(heir), {})
            children[heir], velocities[str(heir)] = _moved(space, fast, slow, before, resample, rng)
        return Explored(children, memory=velocities)

    return explore


def _moved(
    space: Space, fast: Hparams, slow: Hparams, before: Mapping[str, float], resample: float, rng: np.random.Generator
) -> tuple[Child, dict[str, float]]:
    child: Child = {}
    velocity: dict[str, float] = {}
    for name, param in space.items():
        again, inertia, pull = rng.random(3)
        if again < resample:
            child[name] = param.sample(rng)
        elif isinstance(param, Choice):
            child[name] = fast[name]
        else:
            start = param.encode(slow[name])
            velocity[name] = float(inertia * before.get(name, 0.0) + pull * (param.encode(fast[name]) - start))
            child[name] = param.decode(min(1.0, max(0.0, start + velocity[name])))
    return child, velocity


def copy() -> Explore:
    """The parent's hyper-parameters as they are."""
    return lambda space, population, parents, rng, memory: Explored(
        {heir: dict(_hparams(population, parent)) for heir, parent in parents.items()}
    )


def _each(mutate: Mutate) -> Explore:
    def explore(space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json) -> Explored:
        children: dict[int, Child] = {}
        families: dict[int, set[str]] = {}
        for heir, parent in sorted(parents.items()):
            hparams = {name: _hparams(population, parent)[name] for name in space}
            family = families.setdefault(parent, {repr(hparams)})
            children[heir] = _unlike(family, space, partial(mutate, space, hparams), rng)
            family.add(repr(children[heir]))
        return Explored(children)

    return explore


def _unlike(family: set[str], space: Space, mutate: Callable[[np.random.Generator], Child], rng: np.random.Generator) -> Child:
    """A mutation that nobody in the family has, or else a fresh draw that nobody has, while the space has room."""
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
