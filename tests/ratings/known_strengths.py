"""Players of known strength, and games between them."""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

from evolute.ratings import elo
from evolute.ratings.bradley_terry import Node, fit
from evolute.ratings.games import Games
from evolute.ratings.scale import win_probability


def round_robin(rng, *, players, games, spread=200.0):
    """Strengths of these players, and single games between pairs of them drawn by chance."""
    strengths = rng.normal(0, spread, players)
    one = rng.integers(0, players, games)
    other = (one + rng.integers(1, players, games)) % players
    wins = rng.random(games) < win_probability(strengths[one] - strengths[other])
    return strengths, Games.between(one, other, wins, np.ones(games))


def table(rng, probabilities, games):
    """wins[i, j] of a table with this many games a pair."""
    above = np.triu(rng.binomial(games, probabilities), 1)
    return (above + np.tril(games - above.T, -1)).astype(float)


def moving(seed, *, turns=12, size=16, games=16, drift=30.0, heirs=4):
    """How well a moving population is rated: Spearman of the fit, Elo and mean score, and how often 90 % intervals hold.

    Each turn the worst-rated inherit, all train, and each new state plays three states that others had before the turn.
    """
    rng = np.random.default_rng(seed)
    nodes, strengths, elos = [Node()] * size, list(rng.normal(0, 50, size)), np.zeros(size)
    now, rows, judged = np.arange(size), [], []
    ratings = fit(nodes, Games.of_sides([]))
    for turn in range(turns):
        before, order = now, np.argsort(ratings.mean[now])
        start = now.copy()
        start[order[:heirs]] = now[rng.choice(order[-heirs:], heirs)]
        now = np.arange(len(nodes), len(nodes) + size)
        nodes = [*nodes, *(Node(parent=int(parent)) for parent in start)]
        strengths += [strengths[parent] + rng.normal(10, drift) for parent in start]
        played = []
        for slot in range(size):
            for other in rng.choice(np.delete(before, slot), 3, replace=False):
                wins = rng.binomial(games, win_probability(strengths[now[slot]] - strengths[other]))
                played.append((now[slot], other, wins, games))
        rows += played
        ratings = fit(nodes, Games.between(*np.transpose(rows)))
        elos = elo.updated(np.concatenate([elos, elos[start]]), Games.between(*np.transpose(played)))
        if turn >= 4:
            scores = np.array(played)[:, 2].reshape(size, 3).mean(axis=1)
            truth = np.array(strengths)[now]
            orders = [spearmanr(rated, truth).statistic for rated in (ratings.mean[now], elos[now], scores)]
            judged.append([*orders, _covered(ratings, now, truth)])
    return np.mean(judged, axis=0)


def _covered(ratings, now, truth):
    """The share of 90 % intervals that hold; ratings and strengths are compared as differences from the population's mean."""
    centre = np.eye(len(now)) - 1 / len(now)
    deviation = np.sqrt(np.diag(centre @ ratings.covariance[np.ix_(now, now)] @ centre))
    return np.mean(np.abs(centre @ (ratings.mean[now] - truth)) < 1.645 * deviation)
