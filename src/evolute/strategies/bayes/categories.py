"""How the PB2 family picks categories for heirs: by chance (PB2-Rand), or by bandits (PB2-Mult and PB2-Mix).

A play's reward is the share of recent gains that its turn's gain reaches, which needs no scale and moves with the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evolute.core.order import Json
from evolute.core.population import Population, Turn
from evolute.strategies.bayes.bandit import Bandit, Play
from evolute.strategies.bayes.points import Layout, Places
from evolute.strategies.bayes.rows import Rows, gain_of
from evolute.strategies.exploit import Parents

RECENT = 10
"""Rewards are ranks among the gains of so many turns of the whole population."""


class Picked(NamedTuple):
    """The places of each heir's categories, what to remember, and what to tell."""

    places: dict[int, Places]
    memory: Json
    why: dict[str, Json]


Pick = Callable[[Layout, Population, Rows, Parents, np.random.Generator, Json], Picked]


def by_chance(resample: float) -> Pick:
    """Each category is drawn anew with probability `resample`, else the parent's is kept."""
    if not 0 <= resample <= 1:
        raise ValueError(f"resample={resample}: is a probability, and must lie in [0, 1]")

    def pick(
        layout: Layout, population: Population, rows: Rows, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Picked:
        sizes = [len(param.values) for param in layout.categories.values()]
        places = {heir: _inherited(layout, population, parent) for heir, parent in sorted(parents.items())}
        for own in places.values():
            own[:] = [rng.integers(size) if rng.random() < resample else place for size, place in zip(sizes, own, strict=True)]
        return Picked(places, memory, {})

    return pick


def by_bandits(rounds: int, interval: int) -> Pick:
    """One bandit per category, over `rounds` decisions; its plays are the heirs."""

    def pick(
        layout: Layout, population: Population, rows: Rows, parents: Parents, rng: np.random.Generator, memory: Json
    ) -> Picked:
        bandits = {name: Bandit(len(param.values), rounds) for name, param in layout.categories.items()}
        weights = {name: np.array(memory.get("weights", {}).get(name, one.fresh())) for name, one in bandits.items()}
        plays = memory.get("plays", [])
        done = [(play, reward) for play in plays if (reward := _reward(population, rows, play, interval)) is not None]
        for name, bandit in bandits.items() if done else ():
            weights[name] = bandit.learn(weights[name], [(Play(*play["arms"][name]), reward) for play, reward in done])
        drawn = {name: bandit.draw(weights[name], len(parents), rng) if parents else [] for name, bandit in bandits.items()}
        chosen = {heir: {name: drawn[name][at] for name in bandits} for at, heir in enumerate(sorted(parents))}
        running = [play for play in plays if population[play["member"]].turns <= play["turn"]]
        running += [
            {"member": heir, "turn": population[heir].turns, "arms": {name: list(play) for name, play in arms.items()}}
            for heir, arms in chosen.items()
        ]
        kept = {name: [float(weight) for weight in one] for name, one in weights.items()}
        places = {heir: np.array([play.arm for play in arms.values()], dtype=np.int64) for heir, arms in chosen.items()}
        return Picked(places, {"weights": kept, "plays": running}, _told(layout, kept))

    return pick


def _told(layout: Layout, weights: dict[str, list[float]]) -> dict[str, Json]:
    """The weight of each value of each category."""
    named = {
        name: {str(value): round(weight, 4) for value, weight in zip(param.values, weights[name], strict=True)}
        for name, param in layout.categories.items()
    }
    return {"weights": named} if named else {}


def _reward(population: Population, rows: Rows, play: Json, interval: int) -> float | None:
    """The reward of a play whose turn is over: 0 if that failed, None if it is not over or showed nothing."""
    turn = _finished(population, play["member"], play["turn"])
    if turn is None:
        return None
    if turn.failed:
        return 0.0
    gain = gain_of(turn, interval)
    recent: Sequence[float] = list(rows.gain[-RECENT * len(population) :])
    return None if gain is None or not recent else float(np.mean(np.array(recent) <= gain))


def _finished(population: Population, member: int, number: int) -> Turn | None:
    return next((turn for turn in population[member].history() if turn.order.turn == number), None)


def _inherited(layout: Layout, population: Population, parent: int) -> Places:
    turn = population[parent].latest
    assert turn is not None
    return layout.encode(turn.order.hparams)[1]
