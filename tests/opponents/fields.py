"""Fields of players, from tables written by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np

from evolute.core.order import Ref, Report
from evolute.core.population import Population
from evolute.opponents.field import Field


def trained(turns):
    """A population whose members have finished these numbers of turns, each from its own state."""
    population = Population.of(len(turns))
    for slot, count in enumerate(turns):
        for _ in range(count):
            latest = population[slot].latest
            order = population.draft(slot, {}, start=None if latest is None else latest.ref)
            population = population.report([Report(order, {"score": 0.0}, 1, digest="d")])
    return population


def field_of(turns, pool=(), guests=(), shares=None):
    """A field; `shares[one, other]` is what the one is expected to win against the other, 0.5 if it is not there."""
    population = trained(turns)
    latest = {member.slot: member.latest.ref for member in population.members if member.latest is not None}

    def payoff(one, other):
        known = shares or {}
        return known.get((one, other), 1 - known.get((other, one), 0.5))

    def expected(slot, player):
        return payoff(latest[slot], player)

    return Field(population, latest, tuple(pool), tuple(guests), expected, payoff)


def frequencies(choose, field, slot, count=2000):
    """How often each player is chosen."""
    rng = np.random.default_rng(0)
    drawn = Counter(choose(field, slot, rng) for _ in range(count))
    return {player: times / count for player, times in drawn.items()}


NOW = [Ref(slot, 4) for slot in range(8)]
PAST = [Ref(0, 0), Ref(1, 1), Ref(2, 2)]
