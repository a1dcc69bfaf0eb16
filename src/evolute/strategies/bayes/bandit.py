"""TV.EXP3.M: a bandit that plays several arms at once while their worth changes (arXiv 2106.15883, appendix A).

Each categorical hyper-parameter has one; its arms are the values. Weights are kept with sum 1, which changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evolute.strategies.bayes.points import Array

MANY_PLAYS = 0.2
"""The share of exploration when there are at least as many plays as arms."""


class Play(NamedTuple):
    """One arm that was drawn, its chance of that, whether its weight was capped, and with how many others it was drawn."""

    arm: int
    chance: float
    capped: bool
    plays: int


@dataclass(frozen=True)
class Bandit:
    """The rates for so many arms and rounds."""

    arms: int
    rounds: int

    def fresh(self) -> Array:
        return np.full(self.arms, 1 / self.arms)

    def draw(self, weights: Array, plays: int, rng: np.random.Generator) -> list[Play]:
        """Draw arms: distinct ones, unless there are as many plays as arms."""
        explored = self._explored(plays)
        if plays >= self.arms:
            chances = (1 - explored) * weights / weights.sum() + explored / self.arms
            drawn = [int(arm) for arm in rng.choice(self.arms, size=plays, p=chances)]
            return [Play(arm, float(chances[arm]) * plays, False, plays) for arm in drawn]
        share = (1 / plays - explored / self.arms) / (1 - explored) if explored < 1 else math.inf
        cut, capped = _capped(weights, share)
        chances = plays * ((1 - explored) * cut / cut.sum() + explored / self.arms)
        drawn = dep_round(chances, rng)
        return [Play(drawn[place], float(chances[drawn[place]]), bool(capped[drawn[place]]), plays) for place in rng.permutation(plays)]

    def learn(self, weights: Array, rewarded: Sequence[tuple[Play, float]]) -> Array:
        """The weights after plays with rewards in [0, 1]; an arm whose weight was capped gets no more."""
        grown = weights.copy()
        for play, reward in rewarded:
            if not play.capped:
                rate = play.plays * self._explored(play.plays) / self.arms
                grown[play.arm] *= math.exp(rate * reward / play.chance)
        shared = grown + math.e / max(self.rounds, 1) / self.arms * weights.sum()
        return np.asarray(shared / shared.sum())

    def _explored(self, plays: int) -> float:
        if plays >= self.arms:
            return MANY_PLAYS
        bound = self.arms * math.log(self.arms / plays) / ((math.e - 1) * plays * max(self.rounds, 1))
        return min(1.0, math.sqrt(bound))


def _capped(weights: Array, share: float) -> tuple[Array, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """The weights, cut where one would be drawn with a chance above 1, and which were cut.

    The cut `a` solves a / sum(min(w, a)) = share. With the k largest cut, a = share · (sum of the others) / (1 - k share).
    """
    none = np.zeros(len(weights), dtype=np.bool_)
    if weights.max() < share * weights.sum():
        return weights, none
    ordered = np.sort(weights)[::-1]
    for count in range(1, len(weights)):
        if count * share >= 1:
            break
        cut = share * ordered[count:].sum() / (1 - count * share)
        if ordered[count] < cut <= ordered[count - 1]:
            return np.minimum(weights, cut), weights >= cut
    return weights, none


def dep_round(chances: Array, rng: np.random.Generator) -> list[int]:
    """Distinct arms, each with exactly its chance of being drawn; the chances sum to the number of arms to draw.

    Two undecided chances are moved against each other until one of them is 0 or 1 (Gandhi et al. 2006).
    """
    left = np.array(chances, dtype=np.float64)
    open_arms = [arm for arm in range(len(left)) if 1e-12 < left[arm] < 1 - 1e-12]
    while len(open_arms) > 1:
        one, other = open_arms[:2]
        up, down = min(1 - left[one], left[other]), min(left[one], 1 - left[other])
        move = up if rng.random() < down / (up + down) else -down
        left[one], left[other] = left[one] + move, left[other] - move
        open_arms = [arm for arm in open_arms if 1e-12 < left[arm] < 1 - 1e-12]
    return [arm for arm in range(len(left)) if left[arm] > 0.5]
