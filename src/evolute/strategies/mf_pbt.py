"""Multiple-frequencies PBT (arXiv 2506.03225): groups of members that evolve after every turn, or only after many.

Greedy selection after every turn prefers what pays at once. A patient group lets its members train on for longer before they
are compared, and the others take over from it when that has paid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evolute.core.order import Hparams, Json, Order, Ref
from evolute.core.param import FACTORS
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.ranking import better, is_number, ranked
from evolute.strategies.evolution import continued_order, movable
from evolute.strategies.explore import perturbed
from evolute.strategies.score import Scores, score_for

SMALLEST = 8
PATIENT = 6
"""The default patient group evolves after every sixth part of the run."""
OPEN = 10
"""... or after every tenth turn, if the run has no end."""


@dataclass(frozen=True)
class Heritage:
    """What a member takes over: whose state, whose hyper-parameters, whether they are perturbed, and what that is called."""

    state: int
    values: int
    perturb: bool
    event: str


@dataclass(frozen=True)
class Frequencies:
    """Slots in groups, the first group's first, each with the number of turns between its decisions."""

    plan: Plan
    periods: tuple[int, ...]
    sizes: tuple[int, ...]
    resample: float
    factors: tuple[float, ...]
    burn_in: int
    migrate: bool = True

    def init(self) -> Json:
        return {}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        scores = score_for(self.plan)(population)
        heritage: dict[int, Heritage] = {}
        for number, group in enumerate(self.groups):
            heritage |= self._evolved(number, group, population, scores, set(ready))
            heritage |= self._rescued(group, population, scores, ready, rng)
        return state, [self._order(population, slot, heritage.get(slot), rng) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return ()

    @property
    def groups(self) -> list[range]:
        ends = np.cumsum(self.sizes).tolist()
        return [range(end - size, end) for end, size in zip(ends, self.sizes, strict=True)]

    def _evolved(
        self, number: int, group: range, population: Population, scores: Scores, ready: set[int]
    ) -> dict[int, Heritage]:
        """Who of a group takes over what: its worst from its best, and those above them from better outsiders."""
        order = [group[place] for place in ranked([scores[slot] for slot in group])]
        count = max(1, len(group) // 4)
        found: dict[int, Heritage] = {}
        for heir, donor in zip(order[len(order) - count :], order[:count], strict=True):
            if self._is_due(number, population, heir, ready) and better(scores[donor], scores[heir]):
                found[heir] = Heritage(donor, donor, perturb=True, event="inherit")
        if len(group) < 3 * count or not self.migrate:
            return found
        outsiders = [slot for slot in ranked(scores) if slot not in group and is_number(scores[slot])]
        for heir in order[len(order) - 2 * count : len(order) - count]:
            if not outsiders or not self._is_due(number, population, heir, ready):
                continue
            if better(scores[outsiders[0]], scores[heir]):
                guest = outsiders.pop(0)
                slower = self.periods[self._group_of(guest)] > self.periods[number]
                found[heir] = Heritage(guest, guest if slower else order[0], perturb=False, event="migrate")
        return found

    def _rescued(
        self, group: range, population: Population, scores: Scores, ready: Sequence[int], rng: np.random.Generator
    ) -> dict[int, Heritage]:
        """A donor for each failed member: one of its group's better half, or if there is none, of all."""
        found = {}
        for slot in ready:
            if slot in group and population[slot].failed:
                healthy = [one for one in ranked(scores) if is_number(scores[one]) and population[one].latest is not None]
                inside = [one for one in healthy if one in group]
                donors = inside or healthy
                if donors:
                    donor = donors[rng.integers(max(1, len(donors) // 2))]
                    found[slot] = Heritage(donor, donor, perturb=True, event="rescue")
        return found

    def _is_due(self, number: int, population: Population, slot: int, ready: set[int]) -> bool:
        member = population[slot]
        trained = member.last is not None and not member.failed and member.steps >= self.burn_in
        return slot in ready and trained and member.turns % self.periods[number] == 0

    def _group_of(self, slot: int) -> int:
        return next(number for number, group in enumerate(self.groups) if slot in group)

    def _order(self, population: Population, slot: int, taken: Heritage | None, rng: np.random.Generator) -> Order:
        if taken is None:
            return continued_order(self.plan, population, slot, rng)
        state, values = population[taken.state].latest, population[taken.values].latest
        assert state is not None
        space = movable(self.plan)
        others = state if values is None else values
        hparams: Hparams = {**state.order.hparams, **{name: others.order.hparams[name] for name in space}}
        if taken.perturb:
            hparams = {**hparams, **perturbed(space, hparams, rng, resample=self.resample, factors=self.factors)}
        return population.draft(slot, hparams, start=state.ref, event=taken.event)


def mf_pbt(
    plan: Plan,
    *,
    periods: tuple[int, ...] = (),
    shares: tuple[int, ...] = (),
    resample: float = 0.25,
    factors: tuple[float, ...] = FACTORS,
    burn_in: int = 0,
    migrate: bool = True,
) -> Frequencies:
    """PBT in groups that evolve at different frequencies.

    `periods` are the turns between a group's decisions, `shares` the groups' parts of the population: by default three quarters
    evolve after every turn and one after every sixth part of the run. Of a group, the worst quarter takes over the best
    one, perturbed; the quarter above it takes over better members of other groups, unless `migrate` is false. `resample`,
    `factors` and `burn_in` are those of `pbt`.
    """
    periods = tuple(periods) or (1, OPEN if plan.turns is None else max(2, round(plan.turns / PATIENT)))
    shares = tuple(shares) or ((3, 1) if len(periods) == 2 else (1,) * len(periods))
    if plan.size < SMALLEST:
        raise ValueError(f"{plan.size} members are too few for groups: mf_pbt takes {SMALLEST} or more; pbt.every suits fewer")
    if len(periods) != len(shares) or min(periods) < 1 or min(shares) < 1:
        raise ValueError(f"periods={list(periods)} and shares={list(shares)}: give one share for each period, all 1 or more")
    sizes = _sizes(plan.size, shares)
    if min(sizes) < 2:
        raise ValueError(
            f"shares={list(shares)}: {plan.size} members make groups of {list(sizes)}, and a group takes 2 or more"
        )
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")
    return Frequencies(plan, periods, sizes, resample, factors, burn_in, migrate)


def _sizes(size: int, shares: tuple[int, ...]) -> tuple[int, ...]:
    """The members of each group: whole numbers in these proportions."""
    ends = [round(size * sum(shares[: number + 1]) / sum(shares)) for number in range(len(shares))]
    return tuple(end - start for start, end in zip([0, *ends], ends, strict=False))
