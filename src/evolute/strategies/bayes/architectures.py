"""Which architectures a new generation tries (arXiv 2207.09405, section 3.2): by a model of how good they have been so far.

A row is an architecture in one generation: the best score that a member with it reached there, as the normal quantile of its
rank within that generation, since later generations score higher whatever their architecture. A Gaussian process over the
architecture alone proposes where its upper bound is highest, each proposal aware of those before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.population import Population
from evolute.core.ranking import is_number, top
from evolute.core.space import Space
from evolute.strategies.bayes.bg_pbt_explore import kernel_of
from evolute.strategies.bayes.gp import Gp, fitted
from evolute.strategies.bayes.points import Layout, Points
from evolute.strategies.bayes.search import Bound, Reach, best_first
from evolute.strategies.bayes.targets import by_rank
from evolute.threads import single_blas_thread

WIDTH = 1.0
"""Standard deviations of the upper bound above the mean."""
TRIES = 1000
Source = Literal["model", "best", "random"]


@dataclass(frozen=True)
class Tried:
    """An architecture in a generation, and the best score of a member that had it then."""

    generation: int
    architecture: Hparams
    score: float


@dataclass(frozen=True)
class Proposed:
    """An architecture to try, who chose it, and what the model expects of it."""

    architecture: dict[str, Any]
    by: Source
    why: Mapping[str, Json] = field(default_factory=dict)


def tried_so_far(population: Population, first: Sequence[Sequence[int]], names: Sequence[str]) -> list[Tried]:
    """All architectures by generation; `first` is the turn of each slot at which a generation began: [generation, slot].

    A score counts for the architecture that the turn itself was trained with.
    """
    found: dict[tuple[int, str], Tried] = {}
    for member in population.members:
        for turn in member.history():
            if turn.failed or turn.score is None or not is_number(turn.score):
                continue
            generation = max(number for number, begun in enumerate(first) if turn.order.turn >= begun[member.slot])
            architecture = {name: turn.order.hparams[name] for name in names}
            key = generation, repr(architecture)
            if key not in found or turn.score > found[key].score:
                found[key] = Tried(generation, architecture, turn.score)
    return sorted(found.values(), key=lambda one: (one.generation, repr(one.architecture)))


@single_blas_thread()
def proposed_architectures(
    space: Space, tried: Sequence[Tried], count: int, rng: np.random.Generator, *, by_model: bool = True
) -> list[Proposed]:
    """At most `count` different architectures: the best of each generation, half of them by the model, the others at random."""
    count = int(min(count, space.points))
    chosen = [Proposed(dict(one.architecture), "best") for one in _best_of_each(tried)][:count]
    if not space:
        return chosen or [Proposed({}, "random")]
    model = _Model.of(space, tried) if by_model and tried else None
    for _ in range(min(count // 2, count - len(chosen)) if model is not None else 0):
        assert model is not None
        chosen.append(Proposed(model.proposal([one.architecture for one in chosen], rng), "model"))
    while len(chosen) < count:
        chosen.append(Proposed(_unlike([one.architecture for one in chosen], space, rng), "random"))
    return chosen if model is None else [replace(one, why=model.expected(one.architecture)) for one in chosen]


def _best_of_each(tried: Sequence[Tried]) -> list[Tried]:
    """The best architecture of each generation, the newest first, each once."""
    best: dict[str, Tried] = {}
    for generation in sorted({one.generation for one in tried}, reverse=True):
        winner = top([one for one in tried if one.generation == generation], lambda one: one.score)
        if winner is not None:
            best.setdefault(repr(winner.architecture), winner)
    return list(best.values())


@dataclass(frozen=True)
class _Model:
    """A process over architectures, fitted to what was tried."""

    layout: Layout
    gp: Gp

    @classmethod
    def of(cls, space: Space, tried: Sequence[Tried]) -> _Model:
        layout = Layout(space)
        points = _points(layout, [one.architecture for one in tried])
        return cls(layout, fitted(kernel_of(layout), points, quantiles(tried)))

    def proposal(self, pending: Sequence[Hparams], rng: np.random.Generator) -> dict[str, Any]:
        """The architecture with the highest bound that is not pending."""
        bound = Bound(self.gp.with_pending(_points(self.layout, pending)), WIDTH, 0.0, 0.0)
        places = np.zeros(len(self.layout.categories), dtype=np.int64)
        reach = replace(Reach.everywhere(self.layout, places), changes=len(places))
        decoded = (self.layout.decode(*candidate) for candidate in best_first(bound, reach, rng))
        return next((one for one in decoded if one not in pending), None) or _unlike(pending, self.layout.space, rng)

    def expected(self, architecture: Hparams) -> dict[str, Json]:
        """The share of architectures of a generation that this one should beat, and how uncertain that is."""
        from scipy.special import ndtr

        mean, deviation = (float(one[0]) for one in self.gp.posterior(_points(self.layout, [architecture])))
        spread = float(ndtr(mean + deviation) - ndtr(mean - deviation)) / 2
        return {"expected": round(float(ndtr(mean)), 4), "uncertainty": round(spread, 4)}


def quantiles(tried: Sequence[Tried]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The normal quantile of each score's rank within its generation."""
    generations = np.array([one.generation for one in tried])
    scores = np.array([one.score for one in tried], dtype=np.float64)
    targets = np.zeros(len(tried))
    for generation in set(generations.tolist()):
        rows = generations == generation
        targets[rows] = by_rank(scores[rows]).values
    return targets


def _points(layout: Layout, architectures: Sequence[Hparams]) -> Points:
    """Architectures as the process sees them; context and time, which play no part here, are 0."""
    encoded = [layout.encode(one) for one in architectures]
    numbers = np.array([numbers for numbers, _ in encoded]).reshape(len(encoded), len(layout.numbers))
    places = np.array([places for _, places in encoded], dtype=np.int64).reshape(len(encoded), len(layout.categories))
    return Points(np.hstack([np.zeros((len(encoded), 1)), numbers]), places, np.zeros(len(encoded)))


def _unlike(taken: Sequence[Hparams], space: Space, rng: np.random.Generator) -> dict[str, Any]:
    """A draw from the space that nobody has, while it has room."""
    drawn = space.sample(rng)
    for _ in range(TRIES):
        if drawn not in taken:
            break
        drawn = space.sample(rng)
    return drawn
