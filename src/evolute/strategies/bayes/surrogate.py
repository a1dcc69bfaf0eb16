"""The surrogate model of what improved whom, and its proposals, each aware of those that are pending."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.population import Population, Turn
from evolute.core.space import Space
from evolute.strategies.bayes.gp import Gp, fitted
from evolute.strategies.bayes.kernels import Kernel, eps_of
from evolute.strategies.bayes.points import Array, Layout, Points
from evolute.strategies.bayes.rows import Rows, age
from evolute.strategies.bayes.search import Bound, Reach, best_first
from evolute.strategies.bayes.targets import Targets
from evolute.strategies.exploit import Parents
from evolute.strategies.explore import Explored


class Proposal(NamedTuple):
    """Hyper-parameters for an heir, and why."""

    hparams: dict[str, Any]
    why: dict[str, Json]


Taken = Callable[[Hparams], bool]
Propose = Callable[[int, Turn, list[Hparams], Taken], Proposal]


@dataclass(frozen=True)
class Surrogate:
    """A process over the hyper-parameters of a layout, fitted to rows."""

    layout: Layout
    rows: Rows
    targets: Targets
    gp: Gp

    def propose(
        self,
        parent: Turn,
        reach: Reach,
        *,
        width: float,
        pending: Sequence[Hparams],
        taken: Taken,
        interval: int,
        rng: np.random.Generator,
    ) -> Proposal:
        """The best values within reach for an heir of `parent` in its next turn; nothing that is `taken`, if possible.

        Context is the parent's score now, at the time of the next turn, for the heir and for what is pending.
        """
        assert parent.score is not None
        context, time = float(self.rows.context(parent.score)), age(parent, interval)
        bound = Bound(self.gp, width, context, time)
        bound = Bound(self.gp.with_pending(self._points(bound, pending)), width, context, time)
        candidates = best_first(bound, reach, rng)
        decoded = (self.layout.decode(*candidate) for candidate in candidates)
        hparams = next((one for one in decoded if not taken(one)), self.layout.decode(*candidates[0]))
        mean, deviation = bound.gp.posterior(self._points(bound, [hparams]))
        return Proposal(hparams, {**self.targets.prediction(float(mean[0]), float(deviation[0])), "model": self._summary()})

    def _points(self, bound: Bound, hparams: Sequence[Hparams]) -> Points:
        encoded = [self.layout.encode(one) for one in hparams]
        numbers = np.array([numbers for numbers, _ in encoded]).reshape(len(encoded), len(self.layout.numbers))
        places = np.array([places for _, places in encoded], dtype=np.int64).reshape(len(encoded), len(self.layout.categories))
        return bound.points(numbers, places)

    def _summary(self) -> dict[str, Json]:
        """The model's parameters, with what is forgotten in two turns in place of the rate."""
        names = [*(parameter.name for parameter in self.gp.kernel.parameters), "noise"]
        values = dict(zip(names, map(float, self.gp.values), strict=True))
        values = {name: eps_of(value) if name.startswith("rate") else value for name, value in values.items()}
        return {"rows": len(self.rows), **{name.replace("rate", "eps"): round(value, 6) for name, value in values.items()}}


def fit_surrogate(layout: Layout, rows: Rows, kernel: Kernel, transform: Callable[[Array], Targets]) -> Surrogate:
    """A surrogate with this covariance, fitted to the transformed gains of the rows."""
    targets = transform(rows.gain)
    return Surrogate(layout, rows, targets, fitted(kernel, rows.points(layout), targets.values))


def one_by_one(space: Space, population: Population, parents: Parents, propose: Propose) -> Explored:
    """A proposal for each heir, aware of the other members' next turns and of the heirs before it.

    `propose` is given the heir, its parent's latest turn, what is pending, and a test for values
    that its parent or a sibling has.
    """
    pending = _others(population, parents)
    families: dict[int, set[str]] = {}
    made: dict[int, Proposal] = {}
    for heir, slot in sorted(parents.items()):
        parent = population[slot].latest
        assert parent is not None
        family = families.setdefault(slot, {repr({name: parent.order.hparams[name] for name in space})})
        made[heir] = propose(heir, parent, pending, partial(_is_in, family))
        pending.append({**parent.order.hparams, **made[heir].hparams})
        family.add(repr(made[heir].hparams))
    return Explored({heir: one.hparams for heir, one in made.items()}, {heir: one.why for heir, one in made.items()})


def _is_in(family: set[str], hparams: Hparams) -> bool:
    return repr(hparams) in family


def _others(population: Population, parents: Parents) -> list[Hparams]:
    """The hyper-parameters of all members but the heirs, in their running or their next turn."""
    others = []
    for member in population.members:
        order = member.running or (member.latest.order if member.latest is not None and member.slot not in parents else None)
        if order is not None:
            others.append(order.hparams)
    return others
