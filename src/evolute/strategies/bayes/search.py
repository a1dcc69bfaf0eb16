"""Where to look next: the upper confidence bound of a Gaussian process, climbed from many starts.

Numbers climb by their gradient; whole and ordinal ones are then snapped to their values and step to neighbours, and so
do categories where they are free, alternately (arXiv 2207.09405, appendix B).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from evolute.core.param import Int, Ordinal, Param
from evolute.strategies.bayes.gp import Gp
from evolute.strategies.bayes.points import Array, Layout, Places, Points

DRAWS = 256
CLIMBS = 4
EVALUATIONS = 40
ROUNDS = 3


@dataclass(frozen=True)
class Bound:
    """mean + width · deviation at a context and a time."""

    gp: Gp
    width: float
    context: float
    time: float

    def points(self, numbers: Array, places: Places) -> Points:
        """Candidates in this context: numbers [candidate, number] and places [candidate, category]."""
        context = np.full((len(numbers), 1), self.context)
        return Points(np.hstack([context, numbers]), places, np.full(len(numbers), self.time))

    def value(self, numbers: Array, places: Places) -> Array:
        mean, deviation = self.gp.posterior(self.points(numbers, places))
        return mean + self.width * deviation

    def gradient(self, numbers: Array, places: Places) -> tuple[Array, Array]:
        """The bound at each candidate and its gradient by the numbers: [candidate] and [candidate, number]."""
        mean, deviation, by_mean, by_deviation = self.gp.gradients(self.points(numbers, places))
        return mean + self.width * deviation, (by_mean + self.width * by_deviation)[:, 1:]


@dataclass(frozen=True)
class Reach:
    """Where candidates may lie: the numbers in a box, with up to `changes` categories other than the centre's."""

    layout: Layout
    low: Array
    high: Array
    places: Places
    changes: int = 0

    @classmethod
    def everywhere(cls, layout: Layout, places: Places) -> Reach:
        """All numbers, with these categories."""
        count = len(layout.numbers)
        return cls(layout, np.zeros(count), np.ones(count), places)

    def draw(self, count: int, rng: np.random.Generator) -> tuple[Array, Places]:
        numbers = rng.uniform(self.low, self.high, size=(count, len(self.low)))
        places = np.repeat(self.places[None], count, axis=0)
        sizes = [len(param.values) for param in self.layout.categories.values()]
        for row in places if self.changes else ():
            changed = rng.permutation(len(sizes))[: rng.integers(self.changes + 1)]
            row[changed] = [rng.integers(sizes[one]) for one in changed]
        return self.snapped(numbers), places

    def snapped(self, numbers: Array) -> Array:
        """The numbers, with discrete ones rounded to values they can have: [candidate, number]."""
        snapped = numbers.copy()
        params = list(self.layout.numbers.values())
        for number in self.layout.discrete:
            param = params[number]
            snapped[:, number] = [param.encode(param.decode(float(unit))) for unit in numbers[:, number]]
        return snapped

    def neighbours(self, numbers: Array, places: Places) -> tuple[Array, Places]:
        """The candidates one step away from one candidate: [neighbour, number] and [neighbour, category]."""
        neighbours = [*self._stepped(numbers, places), *self._swapped(numbers, places)]
        if not neighbours:
            return numbers[None][:0], places[None][:0]
        return np.array([one for one, _ in neighbours]), np.array([other for _, other in neighbours])

    def _stepped(self, numbers: Array, places: Places) -> Iterator[tuple[Array, Places]]:
        params = list(self.layout.numbers.values())
        for number in self.layout.discrete:
            for unit in steps_from(params[number], float(numbers[number])):
                if self.low[number] - 1e-9 <= unit <= self.high[number] + 1e-9:
                    moved = numbers.copy()
                    moved[number] = unit
                    yield moved, places

    def _swapped(self, numbers: Array, places: Places) -> Iterator[tuple[Array, Places]]:
        for category, param in enumerate(self.layout.categories.values()):
            for place in range(len(param.values)):
                swapped = places.copy()
                swapped[category] = place
                if place != places[category] and np.sum(swapped != self.places) <= self.changes:
                    yield numbers, swapped


def best_first(bound: Bound, reach: Reach, rng: np.random.Generator) -> list[tuple[Array, Places]]:
    """Candidates within reach, the best first: climbed ones, then those that were drawn."""
    drawn = reach.draw(DRAWS, rng)
    order = np.argsort(-bound.value(*drawn), kind="stable")
    numbers, places = _climbed(bound, reach, drawn[0][order[:CLIMBS]], drawn[1][order[:CLIMBS]])
    tops = np.argsort(-bound.value(numbers, places), kind="stable")
    return [*((numbers[row], places[row]) for row in tops), *((drawn[0][row], drawn[1][row]) for row in order)]


def _climbed(bound: Bound, reach: Reach, numbers: Array, places: Places) -> tuple[Array, Places]:
    """Gradient steps on numbers and neighbour steps on the rest, alternately: [candidate, …]."""
    if not (reach.layout.discrete or reach.changes):
        return _ascended(bound, reach, numbers, places, []), places
    fixed: list[int] = []
    for _ in range(ROUNDS):
        snapped = reach.snapped(_ascended(bound, reach, numbers, places, fixed))
        stepped = [_best_neighbour(bound, reach, *candidate) for candidate in zip(snapped, places, strict=True)]
        numbers, places = np.array([one for one, _ in stepped]), np.array([other for _, other in stepped])
        fixed = reach.layout.discrete
    return numbers, places


def _ascended(bound: Bound, reach: Reach, numbers: Array, places: Places, fixed: list[int]) -> Array:
    """All candidates up the gradient at once, except for the fixed numbers."""
    from scipy.optimize import minimize

    if not numbers.shape[1] or len(fixed) == numbers.shape[1]:
        return numbers
    low, high = np.repeat(reach.low[None], len(numbers), axis=0), np.repeat(reach.high[None], len(numbers), axis=0)
    low[:, fixed] = high[:, fixed] = numbers[:, fixed]

    def loss(at: Array) -> tuple[float, Array]:
        values, gradients = bound.gradient(at.reshape(numbers.shape), places)
        return -float(values.sum()), -gradients.ravel()

    bounds = list(zip(low.ravel(), high.ravel(), strict=True))
    optimum = minimize(loss, numbers.ravel(), jac=True, bounds=bounds, method="L-BFGS-B", options={"maxfun": EVALUATIONS})
    climbed: Array = np.clip(optimum.x.reshape(numbers.shape), low, high)
    return climbed


def _best_neighbour(bound: Bound, reach: Reach, numbers: Array, places: Places) -> tuple[Array, Places]:
    """Hill climbing from neighbour to neighbour."""
    here = float(bound.value(numbers[None], places[None])[0])
    for _ in range(DRAWS):
        around = reach.neighbours(numbers, places)
        if not len(around[0]):
            break
        values = bound.value(*around)
        top = int(np.argmax(values))
        if values[top] <= here + 1e-9:
            break
        here, numbers, places = float(values[top]), around[0][top], around[1][top]
    return numbers, places


def steps_from(param: Param, unit: float) -> list[float]:
    """The places of the values next to the one at `unit`."""
    if isinstance(param, Int):
        value = param.decode(unit)
        return [param.encode(other) for other in (value - 1, value + 1) if param.low <= other <= param.high]
    assert isinstance(param, Ordinal)
    last = len(param.values) - 1
    place = round(unit * last)
    return [other / last for other in (place - 1, place + 1) if 0 <= other <= last]
