"""Fronts, crowding and scores against their definitions, computed the slow way."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.pareto import OUTERMOST, crowding, front_places, fronts, hypervolume, pareto_scores

VALUES = st.integers(-3, 3).map(float)
POINTS = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[VALUES] * width), min_size=1, max_size=25))


def dominates(one, other):
    return all(a >= b for a, b in zip(one, other, strict=True)) and one != other


def peeled(points):
    """The front of each point, by taking away those that none of the others dominates, again and again."""
    found, left, number = {}, set(range(len(points))), 0
    while left:
        best = {a for a in left if not any(dominates(points[b], points[a]) for b in left)}
        found |= dict.fromkeys(best, number)
        left, number = left - best, number + 1
    return [found[place] for place in range(len(points))]


@settings(max_examples=200, deadline=None)
@given(POINTS)
def test_fronts_equal_brute_force(points):
    assert fronts(np.array(points)) == peeled(points)


@settings(max_examples=200, deadline=None)
@given(POINTS)
def test_the_front_is_all_that_none_dominates_each_once_by_the_first_objective(points):
    places = front_places(points)
    best = {point for point in points if not any(dominates(other, point) for other in points)}
    assert [points[place] for place in places] == sorted(best)
    assert places == [points.index(points[place]) for place in places]


@settings(max_examples=100, deadline=None)
@given(POINTS)
def test_a_better_front_is_always_a_better_score_and_the_sum_is_highest_on_the_front(points):
    scores, ranks = pareto_scores(points), peeled(points)
    for score, rank in zip(scores, ranks, strict=True):
        assert -rank <= score < -rank + 1
    assert ranks[max(range(len(points)), key=lambda place: sum(points[place]))] == 0


def test_crowding_is_the_distance_of_neighbours_in_units_of_the_range():
    points = np.array([[0.0, 10.0], [1.0, 8.0], [3.0, 4.0], [4.0, 0.0]])
    assert crowding(points) == [math.inf, pytest.approx(3 / 4 + 6 / 10), pytest.approx(3 / 4 + 8 / 10), math.inf]


def test_copies_of_a_point_have_no_room():
    points = np.array([[0.0, 1.0], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5], [1.0, 0.0]])
    assert crowding(points) == [math.inf, 0.0, pytest.approx(2.0), 0.0, math.inf]


def test_the_ends_of_a_front_score_highest_and_members_without_objectives_have_no_score():
    assert pareto_scores([(0.0, 1.0), None, (0.5, 0.5), (1.0, 0.0), (0.1, 0.1)]) == [
        OUTERMOST,
        None,
        pytest.approx(2 / 3),
        OUTERMOST,
        pytest.approx(-1 + OUTERMOST),
    ]
    assert pareto_scores([None, None]) == [None, None]


def test_the_hypervolume_is_what_points_dominate():
    points = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [1.5, 1.5], [-1.0, 9.0]])
    assert hypervolume(points, (0.0, 0.0)) == pytest.approx(1 * 3 + 1 * 2 + 1 * 1)
    assert hypervolume(points[:0], (0.0, 0.0)) == 0.0
