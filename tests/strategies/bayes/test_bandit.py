from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.strategies.bayes.bandit import Bandit, dep_round

DRAWS = 20_000


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_dep_round_draws_each_arm_with_its_probability_and_as_many_distinct_ones_as_asked(count):
    rng = np.random.default_rng(count)
    probabilities = np.array([0.9, 0.05, 0.3, 0.6, 0.15, 0.5])
    probabilities = np.clip(probabilities * count / probabilities.sum(), 0, 0.999)
    while abs(probabilities.sum() - count) > 1e-12:
        free = probabilities < 0.999
        probabilities[free] = np.clip(
            probabilities[free] * (count - 0.999 * (~free).sum()) / probabilities[free].sum(), 0, 0.999
        )
    drawn = np.zeros(6)
    for _ in range(DRAWS):
        arms = dep_round(probabilities, rng)
        assert len(set(arms)) == len(arms) == count
        drawn[arms] += 1
    assert drawn / DRAWS == pytest.approx(probabilities, abs=0.01)


@settings(max_examples=200, deadline=None)
@given(
    weights=st.lists(st.floats(1e-9, 1e9), min_size=2, max_size=8),
    plays=st.integers(1, 10),
    rounds=st.integers(1, 500),
    seed=st.integers(0, 99),
)
def test_any_weights_give_probabilities_that_sum_to_the_plays_and_arms_that_are_distinct(weights, plays, rounds, seed):
    bandit = Bandit(len(weights), rounds)
    probabilities, _ = bandit.probabilities(np.array(weights), plays)
    assert probabilities.sum() == pytest.approx(plays)
    arms = bandit.draw(np.array(weights), plays, np.random.default_rng(seed))
    assert len(arms) == plays
    if plays < len(weights):
        assert (probabilities <= 1).all()
        assert len(set(arms)) == plays
    learnt = bandit.learn(np.array(weights), dict.fromkeys(arms, 1.0), plays)
    assert learnt.sum() == pytest.approx(1)
    assert (learnt > 0).all()


def test_the_cap_solves_its_equation_and_capped_arms_do_not_grow():
    bandit = Bandit(5, 100)
    weights = np.array([100.0, 80.0, 1.0, 1.0, 1.0])
    probabilities, capped = bandit.probabilities(weights, 2)
    explored = math.sqrt(5 * math.log(5 / 2) / ((math.e - 1) * 2 * 100))
    assert capped.tolist() == [True, False, False, False, False]
    share = (1 / 2 - explored / 5) / (1 - explored)
    cut = share * 83 / (1 - share)
    assert cut / (cut + 83) == pytest.approx(share)
    expected = 2 * ((1 - explored) * np.array([cut, 80, 1, 1, 1]) / (cut + 83) + explored / 5)
    assert probabilities == pytest.approx(expected)
    assert probabilities[0] == pytest.approx(1.0)
    learnt = bandit.learn(weights, {0: 1.0, 2: 1.0}, 2)
    share_of_all = math.e / 100 / 5 * 183
    assert learnt[0] / learnt[1] == pytest.approx((100 + share_of_all) / (80 + share_of_all))
    assert learnt[2] > learnt[3]


@pytest.mark.parametrize("plays", [1, 2, 3])
def test_the_best_arm_is_the_one_most_drawn_after_every_change(plays):
    means = [([0.4, 0.5, 0.1, 0.7], 200), ([0.8, 0.4, 0.3, 0.1], 200), ([0.1, 0.9, 0.5, 0.2], 400)]
    drawn = np.zeros((len(means), 4))
    for seed in range(10):
        rng = np.random.default_rng(seed)
        bandit = Bandit(4, 800)
        weights = bandit.fresh()
        for segment, (worth, rounds) in enumerate(means):
            for number in range(rounds):
                arms = bandit.draw(weights, plays, rng)
                weights = bandit.learn(weights, {arm: float(rng.random() < worth[arm]) for arm in arms}, plays)
                drawn[segment, arms] += number >= rounds // 2
    assert drawn.argmax(axis=1).tolist() == [3, 0, 1]


def test_with_as_many_plays_as_arms_a_fifth_is_explored_and_arms_repeat():
    bandit = Bandit(2, 10)
    probabilities, _ = bandit.probabilities(np.array([1.0, 0.0]), 4)
    assert probabilities == pytest.approx([4 * 0.9, 4 * 0.1])
    assert len(bandit.draw(np.array([1.0, 0.0]), 4, np.random.default_rng(0))) == 4
