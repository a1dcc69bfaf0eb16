from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_strengths import round_robin
from scipy.stats import norm, spearmanr

from evolute.ratings import elo
from evolute.ratings.bradley_terry import ANCHOR, Node, fit
from evolute.ratings.games import Games
from evolute.ratings.scale import rating_difference, win_probability

NONE = Games.between([], [], [], [])


def test_without_games_ratings_are_the_prior():
    ratings = fit([Node(), ANCHOR, Node(parent=0), Node(120.0, 40.0), Node(parent=1), Node(parent=2)], NONE)
    assert ratings.mean == pytest.approx([0, 0, 0, 120, 0, 0])
    assert ratings.deviation == pytest.approx(np.sqrt([350**2, 0, 350**2 + 60**2, 40**2, 60**2, 350**2 + 2 * 60**2]))
    assert ratings.covariance[0, 2] == pytest.approx(350**2)
    assert ratings.covariance[0, 3] == 0


def test_nobody_to_rate_is_fine():
    assert len(fit([], NONE).mean) == 0
    assert list(fit([ANCHOR], NONE).deviation) == [0.0]


def test_many_games_give_the_rating_at_which_they_are_expected():
    ratings = fit([ANCHOR, Node()], Games.between(1, 0, 75_000, 100_000))
    assert ratings.mean[1] == pytest.approx(rating_difference(0.75), abs=0.2)
    spread = 1 / (math.log(10) / 400 * math.sqrt(100_000 * 0.75 * 0.25))
    assert ratings.deviation[1] == pytest.approx(spread, rel=0.01)


def test_a_parents_games_count_for_its_child_and_the_childs_a_little_for_its_parent():
    nodes = [ANCHOR, Node(), Node(parent=1)]
    by_parent = fit(nodes, Games.between(1, 0, 900, 1000))
    assert by_parent.mean[1] == pytest.approx(by_parent.mean[2])
    assert by_parent.deviation[2] == pytest.approx(math.hypot(by_parent.deviation[1], 60), rel=0.01)
    both = fit(nodes, Games.between([1, 2], [0, 0], [900, 20], [1000, 20]))
    assert both.mean[2] > both.mean[1] > by_parent.mean[1]


def loss_of(nodes, games, ratings):
    """The negative log posterior, said again in plain loops."""
    total = 0.0
    for place, node in enumerate(nodes):
        mean, deviation = (node.mean, node.deviation) if node.parent is None else (ratings[node.parent], 60)
        total += ((ratings[place] - mean) / deviation) ** 2 / 2
    for players, weights, wins, count in zip(games.players, games.weights, games.wins, games.count, strict=True):
        p = win_probability(sum(w * ratings[player] for player, w in zip(players, weights, strict=True)))
        total -= wins * math.log(p) + (count - wins) * math.log1p(-p)
    return total


results = st.tuples(st.integers(0, 4), st.integers(1, 4), st.integers(0, 10), st.integers(0, 10))


@settings(max_examples=30, deadline=None)
@given(st.lists(results, max_size=8), st.floats(-200, 200))
def test_the_ratings_are_the_most_probable_ones(rows, mean):
    nodes = [Node(), Node(mean, 80.0), Node(parent=0), Node(parent=2), Node(parent=0)]
    games = Games.of_sides(([one], [(one + far) % 5], wins, wins + losses) for one, far, wins, losses in rows)
    found = fit(nodes, games)
    for direction in np.eye(5):
        rise = loss_of(nodes, games, found.mean + direction) - loss_of(nodes, games, found.mean - direction)
        assert rise == pytest.approx(0, abs=1e-5)  # the loss is convex, so where it is flat it is lowest


def test_without_an_anchor_deviations_are_those_of_differences():
    """How high all are together is the prior's: games say how far two are apart, and not where they are."""
    wins = np.array([[0, 220.0], [180.0, 0]])
    ratings = fit([Node(), Node()], Games.of_table(wins))
    centred = ratings.around_mean
    assert np.all(ratings.deviation > 240)
    assert np.all(centred.deviation < 10)
    assert centred.mean.sum() == pytest.approx(0, abs=1e-9)
    assert centred.mean[0] - centred.mean[1] == pytest.approx(ratings.mean[0] - ratings.mean[1])
    assert centred.chance_below(0, 1, 0.5) == pytest.approx(ratings.chance_below(0, 1, 0.5), abs=1e-6)
    better = 1 - ratings.chance_below(0, 1, 0.5)
    for one in (ratings, centred):
        assert one.chance_of_best(0, np.random.default_rng(0)) == pytest.approx(better, abs=0.01)


def test_deviations_are_those_of_the_curvature():
    nodes = [Node(), Node(), Node(parent=1)]
    games = Games.between([0, 1, 0], [1, 2, 2], [7, 3, 5], [10, 10, 6])
    found = fit(nodes, games)

    def slope(at, step=0.5):
        directions = step * np.eye(3)
        return [(loss_of(nodes, games, at + one) - loss_of(nodes, games, at - one)) / (2 * step) for one in directions]

    hessian = np.array([np.subtract(slope(found.mean + one), slope(found.mean - one)) for one in np.eye(3)]) / 2
    assert found.covariance == pytest.approx(np.linalg.inv(hessian), rel=1e-2)


def test_a_side_is_rated_by_the_mean_of_its_players():
    duel = fit([ANCHOR, Node()], Games.between(1, 0, 30, 40))
    twins = fit([ANCHOR, Node()], Games.of_sides([([1, 1], [0, 0], 30, 40)]))
    assert twins.mean == pytest.approx(duel.mean)
    mixed = fit([ANCHOR, Node(), Node()], Games.of_sides([([1, 2], [0], 3000, 4000), ([1], [2], 2000, 4000)]))
    assert mixed.mean[1] == pytest.approx(mixed.mean[2])
    assert mixed.mean[1:].mean() == pytest.approx(rating_difference(0.75), abs=3)


def test_sides_of_unlike_size_share_one_table():
    games = Games.of_sides([([0, 1], [2], 3, 4), ([0], [2], 1, 2)])
    assert games.weights.tolist() == [[0.5, 0.5, -1.0], [1.0, -1.0, 0.0]]
    assert games.differences(np.array([10.0, 20.0, 5.0])).tolist() == [10.0, 5.0]


def test_a_chance_uses_what_the_ratings_have_in_common():
    nodes = [Node(), Node(parent=0), Node()]
    ratings = fit(nodes, NONE)
    assert ratings.chance_below(1, 0, 0.47) == pytest.approx(norm.cdf(rating_difference(0.47) / 60))
    assert ratings.chance_below(2, 0, 0.47) == pytest.approx(norm.cdf(rating_difference(0.47) / math.hypot(350, 350)))
    assert ratings.chance_below(0, 0, 0.47) == 0.0
    assert ratings.win_probability(0, 1) == 0.5


@pytest.mark.parametrize("count", [1, 1e3, 1e7])
def test_a_table_of_wins_alone_has_finite_ratings(count):
    size = 30
    one, other = np.triu_indices(size, 1)
    ratings = fit([Node()] * size, Games.between(one, other, np.full(len(one), count), np.full(len(one), count)))
    assert np.all(np.diff(ratings.mean) < 0)
    assert np.all(np.isfinite(ratings.deviation))
    assert ratings.mean.sum() == pytest.approx(0, abs=1e-3)


def test_hundreds_of_nodes_are_rated_alike_each_time():
    rng = np.random.default_rng(0)
    nodes = [Node(parent=place - 16) if place >= 16 else Node() for place in range(400)]
    one, far = rng.integers(0, 400, 1500), rng.integers(1, 400, 1500)
    games = Games.between(one, (one + far) % 400, rng.integers(0, 33, 1500), np.full(1500, 32))
    first, again = fit(nodes, games), fit(nodes, games)
    assert first.mean.tobytes() == again.mean.tobytes()
    assert np.all(first.deviation > 0)


def test_the_order_of_known_strengths_is_found():
    """3,000 games of 16 players: both ratings order them; the published code, which moves both players alike, does not."""
    found = {"fit": [], "elo": [], "published": []}
    for seed in range(50):
        strengths, games = round_robin(np.random.default_rng(seed), players=16, games=3000)
        ratings = {
            "fit": fit([Node()] * 16, games).mean,
            "elo": elo.updated(np.zeros(16), games),
            "published": published_update(16, games),
        }
        for name, rated in ratings.items():
            found[name].append(spearmanr(rated, strengths).statistic)
    means = {name: np.mean(values) for name, values in found.items()}
    assert means["fit"] >= 0.97
    assert means["elo"] >= 0.97
    assert means["published"] < 0.5


def published_update(players, games):
    ratings = np.zeros(players)
    for (one, other), wins in zip(games.players, games.wins, strict=True):
        step = 4 * (wins - win_probability(ratings[one] - ratings[other]))
        ratings[one] += step
        ratings[other] += step
    return ratings


@pytest.mark.parametrize(("nodes", "word"), [([Node(parent=1), Node(parent=0)], "itself"), ([Node(parent=3)], "from 3 to 3")])
def test_parents_that_lead_nowhere_are_refused(nodes, word):
    with pytest.raises(ValueError, match=word):
        fit(nodes, NONE)


def test_more_wins_than_games_are_refused():
    with pytest.raises(ValueError, match="wins"):
        Games.between(0, 1, 5, 4)
