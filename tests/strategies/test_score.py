from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
from populations import FAILED, best_first, evolved

from evolute.core.ranking import ranked
from evolute.strategies.score import last_score


def test_the_score_is_that_of_the_latest_turn_and_none_without_one():
    population = evolved([1.0, 2.0, 3.0, None, "idle", FAILED], [4.0, None, FAILED, None, "idle", 5.0])
    assert last_score(population) == [4.0, 2.0, None, None, None, 5.0]


@given(st.lists(st.integers(-3, 3).map(float) | st.just(math.nan) | st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_ranks_put_nan_below_every_number_and_ties_to_the_lower_slot(scores):
    assert ranked(scores) == best_first(scores)


def test_minus_infinity_ranks_above_nan():
    assert ranked([math.nan, -math.inf, 0.0]) == [2, 1, 0]
