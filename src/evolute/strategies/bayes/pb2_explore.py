"""How PB2 and its relatives change what is inherited: categories first, then numbers by the model's upper bound.

PB2: arXiv 2002.02518, algorithm 1; PB2-Rand, -Mult and -Mix: arXiv 2106.15883, section 4. Where there is nothing to
learn from yet, heirs are perturbed as in PBT.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.population import Population, Turn
from evolute.core.space import Space
from evolute.strategies.bayes.categories import Pick
from evolute.strategies.bayes.kernels import Kernel, Pb2Kernel
from evolute.strategies.bayes.points import Layout, Places
from evolute.strategies.bayes.rows import Rows, newest_rows
from evolute.strategies.bayes.search import Reach
from evolute.strategies.bayes.surrogate import Proposal, Surrogate, Taken, fit_surrogate, one_by_one
from evolute.strategies.bayes.targets import standardised
from evolute.strategies.exploit import Parents
from evolute.strategies.explore import MUTATIONS, TRIES, Explored, perturbed
from evolute.threads import single_blas_thread

C1, C2 = 0.2, 0.4
Sees = Literal["none", "own", "all"]
"""What the model sees of categories: nothing, only the rows with the heir's own, or all in a mixed kernel."""


def width_after(turns: int) -> float:
    """PB2's sqrt(beta), which grows with time: with turns, as in the paper; its public code counts rows."""
    return math.sqrt(C1 + max(0.0, math.log(C2 * max(turns, 1))))


def pb2_kernel(layout: Layout) -> Kernel:
    """One length scale for the context and all numbers, as in the paper."""
    return Pb2Kernel((0,) * (1 + len(layout.numbers)), len(layout.categories))


@dataclass(frozen=True)
class Pb2Explore:
    """Proposes numbers by the upper bound of a time-varying process, given the categories that `pick` has picked."""

    interval: int
    limit: int
    pick: Pick
    sees: Sees
    kernel: Callable[[Layout], Kernel] = pb2_kernel

    @single_blas_thread()
    def __call__(
        self, space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Explored:
        layout = Layout(space)
        rows = newest_rows(population, interval=self.interval, limit=self.limit, inside=space)
        picked = self.pick(layout, population, rows, parents, rng, memory)
        width = width_after(max(member.turns for member in population.members))
        surrogates: dict[tuple[int, ...], Surrogate | None] = {}

        def propose(heir: int, parent: Turn, pending: list[Hparams], taken: Taken) -> Proposal:
            places = picked.places[heir]
            key = tuple(int(place) for place in places) if self.sees == "own" else ()
            if key not in surrogates:
                surrogates[key] = self._surrogate(layout, rows, places)
            made = self._proposal(surrogates[key], layout, parent, places, pending, width, taken, rng)
            return made._replace(why={**made.why, **picked.why})

        return replace(one_by_one(space, population, parents, propose), memory=picked.memory)

    def _surrogate(self, layout: Layout, rows: Rows, places: Places) -> Surrogate | None:
        """The model for heirs with these categories; None if there are no rows."""
        if self.sees == "own":
            rows = rows.where([np.array_equal(layout.encode(hparams)[1], places) for hparams in rows.hparams])
        if not len(rows):
            return None
        seen = self._seen(layout)
        return fit_surrogate(seen, rows, self.kernel(seen), standardised)

    def _seen(self, layout: Layout) -> Layout:
        return layout if self.sees == "all" else Layout(Space(layout.numbers))

    def _proposal(
        self,
        surrogate: Surrogate | None,
        layout: Layout,
        parent: Turn,
        places: Places,
        pending: list[Hparams],
        width: float,
        taken: Taken,
        rng: np.random.Generator,
    ) -> Proposal:
        fixed = {name: param.values[place] for (name, param), place in zip(layout.categories.items(), places, strict=True)}
        if surrogate is None:
            return Proposal(_perturbed(layout, parent.order.hparams, fixed, taken, rng), {})
        seen = surrogate.layout
        reach = Reach.everywhere(seen, places if seen.categories else places[:0])
        made = surrogate.propose(
            parent,
            reach,
            width=width,
            pending=self._rivals(layout, pending, places),
            taken=lambda hparams: taken(_ordered(layout, {**hparams, **fixed})),
            interval=self.interval,
            rng=rng,
        )
        return made._replace(hparams=_ordered(layout, {**made.hparams, **fixed}))

    def _rivals(self, layout: Layout, pending: list[Hparams], places: Places) -> list[Hparams]:
        """The pending hyper-parameters that this model can see."""
        if self.sees != "own":
            return pending
        return [hparams for hparams in pending if np.array_equal(layout.encode(hparams)[1], places)]


def _perturbed(layout: Layout, hparams: Hparams, fixed: Hparams, taken: Taken, rng: np.random.Generator) -> dict[str, Any]:
    """A perturbation that is not taken, or else a fresh draw that is not, as far as tries allow."""
    space, made = Space(layout.numbers), dict[str, Any]()
    for attempt in range(TRIES):
        numbers = perturbed(space, hparams, rng) if attempt < MUTATIONS else space.sample(rng)
        made = _ordered(layout, {**numbers, **fixed})
        if not taken(made):
            break
    return made


def _ordered(layout: Layout, hparams: Mapping[str, Any]) -> dict[str, Any]:
    return {name: hparams[name] for name in layout.space}
