"""TV.EXP3.M: a bandit that plays several arms at once while their value changes (arXiv 2106.15883, appendix A).

Each categorical hyper-parameter has one; its arms are the values. Weights are normalised to sum 1, which changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.strategies.bayes.points import Array

Mask = np.ndarray[Any, np.dtype[np.bool_]]
MANY_PLAYS = 0.2
"""The share of exploration when there are at least as many plays as arms."""


@dataclass(frozen=True)
class Bandit:
    """The learning rates for a number of arms and rounds."""

    arms: int
    rounds: int

    def fresh(self) -> Array:
        return np.full(self.arms, 1 / self.arms)

    def widened(self, weights: Array) -> Array:
        """The weights with those of new arms, the mean of the others each."""
        new = self.arms - len(weights)
        return weights if new == 0 else np.append(weights, np.full(new, weights.mean())) / (1 + new * weights.mean())

    def probabilities(self, weights: Array, plays: int) -> tuple[Array, Mask]:
        """Each arm's probability of being played, expected plays where it may repeat, and which weights were capped."""
        explored = self._explored(plays)
        if plays >= self.arms:
            cut, capped = weights, np.zeros(self.arms, dtype=np.bool_)
        else:
            share = (1 / plays - explored / self.arms) / (1 - explored) if explored < 1 else math.inf
            cut, capped = _capped(weights, share)
        expected = plays * ((1 - explored) * cut / cut.sum() + explored / self.arms)
        return np.minimum(expected, 1.0) if plays < self.arms else expected, capped

    def draw(self, weights: Array, plays: int, rng: np.random.Generator) -> list[int]:
        """Arms to play: distinct ones, or with repetition where there are as many plays as arms."""
        probabilities, _ = self.probabilities(weights, plays)
        if plays >= self.arms:
            return [int(arm) for arm in rng.choice(self.arms, size=plays, p=probabilities / probabilities.sum())]
        return [int(arm) for arm in rng.permutation(dep_round(probabilities, rng))]

    def learn(self, weights: Array, rewards: Mapping[int, float], plays: int) -> Array:
        """The weights after a round, given the reward in [0, 1] of each arm that was played."""
        probabilities, capped = self.probabilities(weights, plays)
        grown = weights.copy()
        for arm, reward in rewards.items():
            if not capped[arm]:
                grown[arm] *= math.exp(plays * self._explored(plays) / self.arms * reward / min(probabilities[arm], 1.0))
        shared = grown + math.e / max(self.rounds, 1) / self.arms * weights.sum()
        return np.asarray(shared / shared.sum())

    def _explored(self, plays: int) -> float:
        if plays >= self.arms:
            return MANY_PLAYS
        bound = self.arms * math.log(self.arms / plays) / ((math.e - 1) * plays * max(self.rounds, 1))
        return min(1.0, math.sqrt(bound))


def _capped(weights: Array, share: float) -> tuple[Array, Mask]:
    """The weights, cut where an arm's probability would exceed 1, and which were cut.

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


def dep_round(probabilities: Array, rng: np.random.Generator) -> list[int]:
    """Distinct arms, each drawn with exactly its probability; probabilities sum to the number of arms to draw.

    Two undecided probabilities are moved against each other until one of them is 0 or 1 (Gandhi et al. 2006).
    """
    left = np.array(probabilities, dtype=np.float64)
    open_arms = [arm for arm in range(len(left)) if 1e-12 < left[arm] < 1 - 1e-12]
    while len(open_arms) > 1:
        one, other = open_arms[:2]
        up, down = min(1 - left[one], left[other]), min(left[one], 1 - left[other])
        move = up if rng.random() < down / (up + down) else -down
        left[one], left[other] = left[one] + move, left[other] - move
        open_arms = [arm for arm in open_arms if 1e-12 < left[arm] < 1 - 1e-12]
    return [arm for arm in range(len(left)) if left[arm] > 0.5]
