"""A population that trains and inherits is ordered best by ratings that follow descent."""

from __future__ import annotations

import numpy as np
from known_strengths import moving, round_robin

from evolute.ratings import elo
from evolute.ratings.bradley_terry import Node, fit
from evolute.ratings.scale import rating_difference


def test_descent_orders_a_moving_population_better_than_elo_and_scores_and_knows_how_sure_it_is():
    descent, by_elo, by_score, covered = np.mean([moving(seed) for seed in range(5)], axis=0)
    assert descent > by_elo > by_score
    assert descent > by_score + 0.08
    assert 0.88 <= covered <= 0.99


def test_a_large_step_takes_weaker_parents_and_a_small_one_misses_better_ones():
    """Strengths with a spread of 50: who is seen as better by select=0.47, among those who are, and those who are not."""
    fits, hasty, slow = (np.mean([_faults(seed, rule) for seed in range(10)], axis=0) for rule in (_fit, _elo(16), _elo(0.1)))
    assert fits[0] < 0.05
    assert fits[1] < 0.1
    assert hasty[0] > 0.1
    assert slow[1] > 0.9


def _fit(games):
    return fit([Node()] * 16, games).mean


def _elo(k):
    return lambda games: elo.updated(np.zeros(16), games, k=k)


def _faults(seed, rule):
    """The share of weaker ones among the parents that would be taken, and of clearly better ones that would be missed."""
    strengths, games = round_robin(np.random.default_rng(seed), players=16, games=512 * 8, spread=50)
    ratings, far = rule(games), rating_difference(0.47)
    taken = ratings[:, None] - ratings < far
    true = strengths[:, None] - strengths
    return [(taken & (true > 0)).sum() / max(taken.sum(), 1), (~taken & (true < 2 * far)).sum() / (true < 2 * far).sum()]
