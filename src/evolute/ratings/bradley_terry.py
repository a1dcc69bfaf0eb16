"""Ratings by the model of Bradley and Terry (1952), with a prior that follows descent.

A player wins with a probability that depends on the difference of ratings alone. Training changes a player a little at a
time, so a child's rating is normal around its parent's: games of its ancestors say much about a state that has played few of
its own. The most probable ratings are found by Newton's method, and their deviations from the curvature there (Laplace).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evolute.ratings.games import Games
from evolute.ratings.scale import PER_POINT, Floats, chance_below, win_probability
from evolute.threads import single_blas_thread

FRESH = 350.0
"""How far fresh players' ratings spread around 0."""
DRIFT = 60.0
"""How far a turn of training moves a rating."""
ITERATIONS = 200
TOLERANCE = 1e-6
"""Newton's method ends at a step below this many points."""
ROUNDING = 1e-12
DRAWS = 20_000
"""Draws that tell how probably somebody is the best."""


@dataclass(frozen=True)
class Node:
    """A player to be rated: known by its parent, a node's number, or else by a mean and a deviation.

    A node that was rated before comes with what it was given then; a deviation of 0 fixes a rating, as that of an anchor.
    """

    mean: float = 0.0
    deviation: float = FRESH
    parent: int | None = None


ANCHOR = Node(0.0, 0.0)


@dataclass(frozen=True)
class Ratings:
    """The most probable rating of each node [node] and their `covariance` [node, node]."""

    mean: Floats
    covariance: Floats

    @property
    def deviation(self) -> Floats:
        """The standard deviation of each rating [node]."""
        return np.sqrt(np.diag(self.covariance))

    def win_probability(self, one: int, other: int) -> float:
        """The probability of a win of one node over another, by their mean ratings."""
        return float(win_probability(self.mean[one] - self.mean[other]))

    def chance_below(self, one: int, other: int, threshold: float) -> float:
        """The probability that one node beats another less often than `threshold`, a share of games."""
        pair = np.ix_([one, other], [one, other])
        variance = float(np.array([1.0, -1.0]) @ self.covariance[pair] @ np.array([1.0, -1.0]))
        return chance_below(float(self.mean[one] - self.mean[other]), max(variance, 0.0) ** 0.5, threshold)

    @property
    def around_mean(self) -> Ratings:
        """The ratings as differences from the mean of all nodes, with the covariance of these differences.

        Where no rating is fixed, how high all of them are together is the prior's alone, and games say nothing about it.
        """
        centre = np.eye(len(self.mean)) - 1 / len(self.mean)
        return Ratings(centre @ self.mean, centre @ self.covariance @ centre)

    def chance_of_best(self, one: int, rng: np.random.Generator) -> float:
        """The probability that a node's rating is the highest of all, by draws of all ratings together."""
        draws = rng.multivariate_normal(self.mean, self.covariance, DRAWS, method="eigh")
        return float(np.mean(draws.argmax(axis=1) == one))


@single_blas_thread()
def fit(nodes: Sequence[Node], games: Games, *, drift: float = DRIFT) -> Ratings:
    """The ratings of all nodes after these games; a child's differs from its parent's by a deviation of `drift`."""
    _check(nodes, games)
    posterior = _posterior(nodes, games, drift)
    free = np.flatnonzero([node.parent is not None or node.deviation > 0 for node in nodes])
    mean = np.array([nodes[_root(nodes, place)].mean for place in range(len(nodes))], dtype=np.float64)
    for _ in range(ITERATIONS if len(free) else 0):
        gradient, hessian = posterior.derivatives(mean)
        step = np.zeros_like(mean)
        step[free] = -np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
        mean = posterior.descended(mean, step)
        if np.abs(step).max() < TOLERANCE:
            break
    covariance = np.zeros((len(nodes), len(nodes)))
    covariance[np.ix_(free, free)] = np.linalg.inv(posterior.derivatives(mean)[1][np.ix_(free, free)])
    return Ratings(mean, 0.5 * (covariance + covariance.T))


@dataclass(frozen=True)
class _Posterior:
    """What prior and games say about ratings r [node]. The prior is proportional to exp(-r·precision·r/2 + pull·r)."""

    precision: Floats
    pull: Floats
    games: Games

    def loss(self, mean: Floats) -> float:
        """The negative logarithm of the posterior, but for a constant."""
        odds = PER_POINT * self.games.differences(mean)
        likelihood = self.games.count * np.logaddexp(0.0, odds) - self.games.wins * odds
        return float(0.5 * mean @ self.precision @ mean - self.pull @ mean + likelihood.sum())

    def derivatives(self, mean: Floats) -> tuple[Floats, Floats]:
        """Gradient [node] and Hessian [node, node] of the loss."""
        games = self.games
        expected = win_probability(games.differences(mean))
        surplus = PER_POINT * (games.count * expected - games.wins)
        curvature = PER_POINT**2 * games.count * expected * (1 - expected)
        gradient, hessian = self.precision @ mean - self.pull, self.precision.copy()
        np.add.at(gradient, games.players, surplus[:, None] * games.weights)
        for seat in range(games.players.shape[1]):
            products = curvature[:, None] * games.weights[:, [seat]] * games.weights
            np.add.at(hessian, (games.players[:, [seat]], games.players), products)
        return gradient, hessian

    def descended(self, mean: Floats, step: Floats) -> Floats:
        """The ratings after a step, which is halved while it would raise the loss: a whole one may overshoot."""
        before = self.loss(mean)
        most = before + ROUNDING * (1 + abs(before))
        share = 1.0
        while self.loss(mean + share * step) > most:
            share /= 2
        return mean + share * step


def _posterior(nodes: Sequence[Node], games: Games, drift: float) -> _Posterior:
    precision, pull = np.zeros((len(nodes), len(nodes))), np.zeros(len(nodes))
    for place, node in enumerate(nodes):
        if node.parent is not None:
            pair = np.ix_([place, node.parent], [place, node.parent])
            precision[pair] += np.array([[1.0, -1.0], [-1.0, 1.0]]) / drift**2
        elif node.deviation > 0:
            precision[place, place] += 1 / node.deviation**2
            pull[place] += node.mean / node.deviation**2
    return _Posterior(precision, pull, games)


def _root(nodes: Sequence[Node], place: int) -> int:
    """The oldest ancestor that a node has among the nodes."""
    root = place
    for _ in nodes:
        parent = nodes[root].parent
        if parent is None:
            return root
        root = parent
    raise ValueError(f"node {place} descends from itself: parents must lead back to a node without one")


def _check(nodes: Sequence[Node], games: Games) -> None:
    named = [*games.players.flat, *(node.parent for node in nodes if node.parent is not None)]
    if named and not (min(named) >= 0 and max(named) < len(nodes)):
        raise ValueError(f"players and parents are numbers from {min(named)} to {max(named)}, but there are {len(nodes)} nodes")
