from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from evolute.ratings.scale import chance_below, chance_of_best, rating_difference, win_probability


@pytest.mark.parametrize(("difference", "probability"), [(0, 0.5), (400, 10 / 11), (-400, 1 / 11), (800, 100 / 101)])
def test_four_hundred_points_are_odds_of_ten_to_one(difference, probability):
    assert win_probability(difference) == pytest.approx(probability)
    assert rating_difference(probability) == pytest.approx(difference)


def test_huge_differences_do_not_overflow():
    assert list(win_probability([-1e9, 1e9])) == [0.0, 1.0]


@settings(deadline=None)
@given(st.floats(-500, 500), st.floats(1, 300), st.floats(0.05, 0.95))
def test_the_chance_is_that_of_a_normal_difference(difference, deviation, threshold):
    expected = norm.cdf(rating_difference(threshold), difference, deviation)
    assert chance_below(difference, deviation, threshold) == pytest.approx(expected, abs=1e-12)


def test_without_deviation_the_chance_is_certain():
    assert chance_below(-21.0, 0.0, 0.47) == 1.0
    assert chance_below(-20.0, 0.0, 0.47) == 0.0  # 0.47 is 20.9 points below
    assert chance_below(-20.8, 0.0, 0.47) == 0.0
    assert chance_below(-21.0, 10.0, 0.47) == pytest.approx(0.504, abs=2e-3)


@pytest.mark.parametrize("probability", [0, 1, -0.1, np.nan])
def test_no_rating_makes_a_win_certain(probability):
    with pytest.raises(ValueError, match=f"probability={probability}"):
        rating_difference(probability)


@pytest.mark.parametrize(
    ("means", "deviations"),
    [([50.0, 30.0, -10.0], [30.0, 40.0, 20.0]), ([0.0, 0.0, 0.0, 0.0], [35.0] * 4), ([10.0, 0.0], [0.0, 10.0])],
)
def test_the_chance_of_being_the_best_of_several(means, deviations):
    draws = np.random.default_rng(0).normal(means, deviations, (200_000, len(means)))
    assert chance_of_best(means, deviations) == pytest.approx(float((draws.argmax(axis=1) == 0).mean()), abs=0.005)
