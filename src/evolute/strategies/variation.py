"""How a child's hyper-parameters come from those of two parents: simulated binary crossover and polynomial mutation.

Both work in the unit cube, within its bounds (Deb and Agrawal 1995; Deb 2001, section 4.4; as in NSGA-II's public code). A
category is one of the parents', and mutates by being drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.order import Hparams
from evolute.core.param import Choice, Float, Param
from evolute.core.space import Space

EQUAL = 1e-14
"""Parents that are no farther apart have nothing to cross."""
TRIES = 10
"""How often a child that is like one of its parents is made again."""


@dataclass(frozen=True)
class Variation:
    """Parents are crossed with probability `crossover`, each value then with one half; each value mutates with `mutation`.

    The higher an eta is, the closer children stay to their parents. `mutation` is by default one over the number of values.
    """

    crossover: float = 0.9
    crossover_eta: float = 20.0
    mutation: float | None = None
    mutation_eta: float = 20.0

    def __post_init__(self) -> None:
        for name, value in (("crossover", self.crossover), ("mutation", 0.0 if self.mutation is None else self.mutation)):
            if not 0 <= value <= 1:
                raise ValueError(f"{name}={value}: must be a probability in [0, 1]")
        for name, value in (("crossover_eta", self.crossover_eta), ("mutation_eta", self.mutation_eta)):
            if value < 0:
                raise ValueError(f"{name}={value}: must be 0 or more")

    def child(self, space: Space, one: Hparams, other: Hparams, rng: np.random.Generator) -> dict[str, Any]:
        """The hyper-parameters of a child, unlike those of its parents where a few tries find such."""
        parents = [{name: parent[name] for name in space} for parent in (one, other)]
        made = self._child(space, one, other, rng)
        for _ in range(TRIES):
            if made not in parents:
                break
            made = self._child(space, one, other, rng)
        return made

    def _child(self, space: Space, one: Hparams, other: Hparams, rng: np.random.Generator) -> dict[str, Any]:
        crossed = rng.random() < self.crossover
        chance = 1 / max(1, len(space)) if self.mutation is None else self.mutation
        child: dict[str, Any] = {}
        for name, param in space.items():
            value = self._crossed(param, one[name], other[name], rng) if crossed and rng.random() < 0.5 else one[name]
            child[name] = self._mutated(param, value, rng) if rng.random() < chance else value
        return child

    def _crossed(self, param: Param, one: Any, other: Any, rng: np.random.Generator) -> Any:
        if isinstance(param, Choice):
            return one if rng.random() < 0.5 else other
        return param.decode(crossed(param.encode(one), param.encode(other), self.crossover_eta, rng))

    def _mutated(self, param: Param, value: Any, rng: np.random.Generator) -> Any:
        """Another value nearby; a number in steps moves by one step at least, however close eta would keep it."""
        if isinstance(param, Choice):
            return param.sample(rng)
        moved = param.decode(mutated(param.encode(value), self.mutation_eta, rng))
        return moved if isinstance(param, Float) or moved != value else param.perturb(value, rng)


def crossed(one: float, other: float, eta: float, rng: np.random.Generator) -> float:
    """Bounded simulated binary crossover: one of the two children of two places in [0, 1], each as likely as the other."""
    low, high = min(one, other), max(one, other)
    draw, first = rng.random(), rng.random() < 0.5
    if high - low <= EQUAL:
        return one
    room = low if first else 1 - high
    alpha = 2 - (1 + 2 * room / (high - low)) ** -(eta + 1)
    spread = (draw * alpha if draw <= 1 / alpha else 1 / (2 - draw * alpha)) ** (1 / (eta + 1))
    middle, half = (low + high) / 2, spread * (high - low) / 2
    return float(np.clip(middle - half if first else middle + half, 0.0, 1.0))


def mutated(place: float, eta: float, rng: np.random.Generator) -> float:
    """Bounded polynomial mutation of a place in [0, 1]."""
    draw = rng.random()
    if draw < 0.5:
        step = (2 * draw + (1 - 2 * draw) * (1 - place) ** (eta + 1)) ** (1 / (eta + 1)) - 1
    else:
        step = 1 - (2 * (1 - draw) + (2 * draw - 1) * place ** (eta + 1)) ** (1 / (eta + 1))
    return float(np.clip(place + step, 0.0, 1.0))
