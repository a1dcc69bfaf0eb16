"""How the PB2 family picks categories for heirs: at random (PB2-Rand), or by bandits (PB2-Mult and PB2-Mix).

The members are the players of a round, as in arXiv 2106.15883: each turn with a category shows what it is worth. The
reward of a turn is the share of recent gains that its gain reaches, which needs no scale and moves with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from evolute.core.order import Json
from evolute.core.param import Choice
from evolute.core.population import Population, Turn
from evolute.strategies.bayes.bandit import Bandit
from evolute.strategies.bayes.points import Layout, Places, place_of
from evolute.strategies.bayes.rows import Rows, gain_of
from evolute.strategies.exploit import Parents

RECENT = 10
"""Rewards are ranks among the gains of this many turns of the whole population."""


class Picked(NamedTuple):
    """The places of each heir's categories, what to remember, and what to record."""

    places: dict[int, Places]
    memory: Json
    why: dict[str, Json]


Pick = Callable[[Layout, Population, Rows, Parents, np.random.Generator, Json], Picked]


def at_random(resample: float) -> Pick:
    """Each category is redrawn with probability `resample`, else the parent's is kept."""
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")

    def pick(
        layout: Layout, population: Population, rows: Rows, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Picked:
        sizes = [len(param.values) for param in layout.categories.values()]
        places = {heir: _inherited(layout, population, parent) for heir, parent in sorted(parents.items())}
        for own in places.values():
            own[:] = [rng.integers(size) if rng.random() < resample else place for size, place in zip(sizes, own, strict=True)]
        return Picked(places, memory, {})

    return pick


def by_bandits(rounds: int, interval: int, resample: float = 1.0) -> Pick:
    """One bandit per category, over `rounds` decisions. All members play, each its own category.

    With probability `resample` an heir gets the value that the bandit draws for it, else it keeps its parent's.
    """
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: must be a probability in [0, 1]")

    def pick(
        layout: Layout, population: Population, rows: Rows, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Picked:
        heirs = sorted(parents)
        turns = _since(population, memory.get("turns", [0] * len(population)))
        weights: dict[str, list[float]] = {}
        drawn: dict[str, list[int]] = {}
        for name, param in layout.categories.items():
            bandit = Bandit(len(param.values), rounds)
            now = bandit.widened(np.array(memory["weights"][name])) if memory else bandit.fresh()
            if rewards := _rewards(turns, name, param, rows, RECENT * len(population), interval):
                now = bandit.learn(now, rewards, len(population))
            weights[name] = [float(weight) for weight in now]
            drawn[name] = bandit.draw(now, len(heirs), rng) if heirs else []
        places = {heir: np.array([arms[at] for arms in drawn.values()], dtype=np.int64) for at, heir in enumerate(heirs)}
        if resample < 1:
            for heir, own in places.items():
                same = rng.random(len(own)) >= resample
                own[same] = _inherited(layout, population, parents[heir])[same]
        kept = {"weights": weights, "turns": [member.turns for member in population.members]}
        return Picked(places, kept if layout.categories else {}, _summary(layout, weights))

    return pick


def _summary(layout: Layout, weights: dict[str, list[float]]) -> dict[str, Json]:
    """The weight of each value of each category."""
    named = {
        name: {str(value): round(weight, 4) for value, weight in zip(param.values, weights[name], strict=True)}
        for name, param in layout.categories.items()
    }
    return {"weights": named} if named else {}


def _since(population: Population, counted: Sequence[int]) -> list[Turn]:
    """The turns that each slot has finished since `counted` of them."""
    slots = zip(population.members, counted, strict=True)
    return [turn for member, seen in slots for turn in islice(member.history(), max(member.turns - seen, 0))]


def _rewards(turns: Sequence[Turn], name: str, param: Choice, rows: Rows, recent: int, interval: int) -> dict[int, float]:
    """The mean reward of each value that was played: 0 for a failed turn, none for a turn without a score."""
    rewards: dict[int, list[float]] = {}
    for turn in turns:
        gain = gain_of(turn, interval)
        if turn.failed or (gain is not None and len(rows)):
            reward = 0.0 if gain is None else float(np.mean(rows.gain[-recent:] <= gain))
            rewards.setdefault(place_of(param, turn.order.hparams[name]), []).append(reward)
    return {place: float(np.mean(values)) for place, values in sorted(rewards.items())}


def _inherited(layout: Layout, population: Population, parent: int) -> Places:
    turn = population[parent].latest
    assert turn is not None
    return layout.encode(turn.order.hparams)[1]
