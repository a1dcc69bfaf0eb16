"""Evolution with an archive: children of the best states so far, which stay parents until better ones take their place.

A child trains on from its first parent's state, with hyper-parameters that come from both parents. Weights are not crossed:
hidden units have no order, so that half of one network and half of another are no network. With a barrier all children of a
generation compete with their parents at once; without, each does when it is ready, which is called steady state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Population, Turn
from evolute.core.protocols import Plan
from evolute.core.ranking import better, is_number, ranked
from evolute.strategies.evolution import continued_order, movable
from evolute.strategies.score import scores_among
from evolute.strategies.variation import Variation

MANY = 2
"""An archive is large if it holds more than this many states for each member."""
Survive = Callable[[Sequence[Turn]], list[Turn]]
"""Who of the archive and the newly trained is the archive from now on."""
Draw = Callable[[np.random.Generator], Turn]
Mating = Callable[[Sequence[Turn]], Draw]
"""How parents are drawn out of an archive."""


@dataclass(frozen=True)
class Breeding:
    """A strategy composed of three functions. Its state is the archive, as the names of states, which the run retains."""

    plan: Plan
    survive: Survive
    mating: Mating
    vary: Variation
    most: int
    """How many states the archive can hold."""

    def init(self) -> Json:
        return {"archive": []}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        before = [population.find(Ref(*pair)) for pair in state["archive"]]
        trained = [turn for slot in ready if (turn := population[slot].last) is not None and _is_rankable(turn)]
        archive = self.survive([*before, *trained])
        draw = self.mating(archive) if archive else None
        return {"archive": [list(turn.ref) for turn in archive]}, [self._order(population, slot, draw, rng) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return [Ref(*pair) for pair in state["archive"]]

    def advice(self) -> list[str]:
        """What the archive takes, if it is large."""
        if self.most <= MANY * self.plan.size:
            return []
        return [f"keeps the states of its archive, up to {self.most:,}, besides the members' own"]

    def _order(self, population: Population, slot: int, draw: Draw | None, rng: np.random.Generator) -> Order:
        last = population[slot].last
        waits = last is not None and not last.failed and not _is_rankable(last)
        if last is None or waits or draw is None:
            return continued_order(self.plan, population, slot, rng)
        one, other = draw(rng), draw(rng)
        values = self.vary.child(movable(self.plan), one.order.hparams, other.order.hparams, rng)
        event = "rescue" if last.failed else "inherit"
        parents = [list(one.ref), list(other.ref)]
        return population.draft(slot, {**one.order.hparams, **values}, start=one.ref, event=event, parents=parents)


def best_of(plan: Plan, size: int) -> Survive:
    """The best `size`, by what the plan's members are compared by; of equals those that came first."""

    def survive(turns: Sequence[Turn]) -> list[Turn]:
        return [turns[place] for place in ranked(scores_among(plan, turns))[:size]]

    return survive


def tournament(plan: Plan) -> Mating:
    """The better of two that are drawn; of equals the first."""

    def mating(archive: Sequence[Turn]) -> Draw:
        scores = scores_among(plan, archive)

        def draw(rng: np.random.Generator) -> Turn:
            one, other = (int(place) for place in rng.integers(len(archive), size=2))
            return archive[other if better(scores[other], scores[one]) else one]

        return draw

    return mating


def uniform(archive: Sequence[Turn]) -> Draw:
    """Any of the archive, each as likely as the others."""
    return lambda rng: archive[int(rng.integers(len(archive)))]


def archive_size(plan: Plan, asked: int | None) -> int:
    """How many the archive holds: as many as there are members, unless it is said otherwise."""
    if asked is not None and asked < 2:
        raise ValueError(f"archive={asked}: must be 2 or more, since a child has two parents")
    return plan.size if asked is None else asked


def _is_rankable(turn: Turn) -> bool:
    return not turn.failed and is_number(turn.score)
