"""Population-based training of agents that play each other (Liu et al. 2019, arXiv 1902.07151).

Scores are ratings. A member compares itself with one other, and takes over its weights if it would win too few games against
it; of the hyper-parameters it takes over some, each by a coin of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice

import numpy as np

from evolute.core.order import Hparams, Json
from evolute.core.param import FACTORS
from evolute.core.population import Member, Population
from evolute.core.protocols import Plan
from evolute.core.ranking import is_number
from evolute.core.space import Space
from evolute.ratings.scale import chance_below
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import Exploit, Parents
from evolute.strategies.explore import Child, Explore, Explored
from evolute.strategies.score import Scores


def pbt_marl(
    plan: Plan,
    *,
    select: float = 0.47,
    confidence: float = 0.5,
    burn_in: int = 5,
    wait: int = 1,
    inherit: float = 0.5,
    mutate: float = 0.1,
    factors: tuple[float, ...] = FACTORS,
) -> Evolution:
    """Evolution by ratings.

    A member takes over another one's weights if it would win less than `select` of their games, by their ratings with a
    probability above `confidence`. It may do so once it has trained for `burn_in` intervals, and both have trained for
    `wait` intervals since they last took over weights. It takes over each hyper-parameter with probability `inherit`, and
    multiplies each by one of `factors` with probability `mutate`.
    """
    probabilities = {"confidence": confidence, "inherit": inherit, "mutate": mutate}
    for name, value in probabilities.items():
        if not 0 <= value <= 1:
            raise ValueError(f"{name}={value}: must be a probability in [0, 1]")
    return Evolution(plan, outplayed(select, confidence, burn_in=burn_in, wait=wait), crossover(inherit, mutate, factors))


def outplayed(select: float, confidence: float, *, burn_in: int = 0, wait: int = 0) -> Exploit:
    """Each eligible member draws one other, and takes it over if it would win less than `select` of their games."""
    if not 0 < select < 1:
        raise ValueError(f"select={select}: must lie between 0 and 1, as ratings make no win certain")

    def exploit(population: Population, scores: Scores, ready: Sequence[int], rng: np.random.Generator) -> Parents:
        settled = [m.slot for m in population.members if is_number(scores[m.slot]) and has_waited(m, wait)]
        parents = {}
        for slot in ready:
            others = [other for other in settled if other != slot]
            if slot in settled and population[slot].turns >= burn_in and others:
                other = others[rng.integers(len(others))]
                if _below(population, scores, slot, other, select) > confidence:
                    parents[slot] = other
        return parents

    return exploit


def has_waited(member: Member, turns: int) -> bool:
    """Whether a member has trained for this many turns on what it last took over, or began with."""
    trained = (turn for turn in member.history() if not turn.failed)
    for count, turn in enumerate(islice(trained, turns), start=1):
        if count == turns:
            return True
        if turn.order.start is None or turn.order.start.member != member.slot:
            return False
    return turns == 0


def _below(population: Population, scores: Scores, slot: int, other: int, select: float) -> float:
    """The probability that a member wins less than `select` of its games against the other."""
    mine, theirs = scores[slot], scores[other]
    assert mine is not None
    assert theirs is not None
    return chance_below(mine - theirs, math.hypot(_deviation(population, slot), _deviation(population, other)), select)


def _deviation(population: Population, slot: int) -> float:
    latest = population[slot].latest
    return 0.0 if latest is None or latest.deviation is None else latest.deviation


def crossover(inherit: float, mutate: float, factors: tuple[float, ...] = FACTORS) -> Explore:
    """Each hyper-parameter by itself: the parent's or the heir's own, and then moved a little or not.

    An heir whose turn failed keeps none of its own, which may be why it failed.
    """

    def explore(space: Space, population: Population, parents: Parents, rng: np.random.Generator, memory: Json) -> Explored:
        children: dict[int, Child] = {}
        why: dict[int, dict[str, Json]] = {}
        for heir, parent in sorted(parents.items()):
            donated = _hparams(population, parent)
            own = donated if population[heir].failed else _hparams(population, heir)
            inherited = [name for name in space if rng.random() < inherit]
            mutated = [name for name in space if rng.random() < mutate]
            children[heir] = {name: (donated if name in inherited else own)[name] for name in space}
            children[heir] |= {name: space[name].perturb(children[heir][name], rng, factors) for name in mutated}
            why[heir] = {"inherited": inherited, "mutated": mutated}
        return Explored(children, why)

    return explore


def _hparams(population: Population, slot: int) -> Hparams:
    latest = population[slot].latest
    if latest is None:
        raise ValueError(f"member {slot} has no state yet, and so no hyper-parameters to give")
    return latest.order.hparams
