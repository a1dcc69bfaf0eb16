from __future__ import annotations

import math

import numpy as np
import pytest

from evolute.learners.drift_mixed import drift_mixed

HEIGHTS = [1.0, 0.75, 0.6, 0.45]
CATEGORIES = range(4)


def gain(problem, turn, x0, x1, c):
    state = {"turn": turn, "total": 0.0}
    return drift_mixed(state, {"x0": x0, "x1": x1, "c": c, "problem": problem}, 1, 0)[1]["true"]


def bump(problem, turn, c):
    """The peak and the height of a category, found from what three corners gain."""
    corner, right, top = (0.08 * math.log(gain(problem, turn, *place, c)) for place in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    place = np.array([(right - corner + 1) / 2, (top - corner + 1) / 2])
    return place, math.exp((corner + place @ place) / 0.08)


def heights(problem, turn):
    return [round(bump(problem, turn, c)[1], 6) for c in CATEGORIES]


def test_the_heights_are_a_permutation_that_holds_for_half_the_time_and_then_another():
    changed = 0
    for problem in range(40):
        first, second = heights(problem, 0), heights(problem, 20)
        assert sorted(first, reverse=True) == sorted(second, reverse=True) == HEIGHTS
        assert all(heights(problem, turn) == first for turn in (1, 10, 19))
        assert all(heights(problem, turn) == second for turn in (21, 30, 39))
        changed += first != second
    assert changed >= 34


@pytest.mark.parametrize("turn", [0, 20])
def test_every_category_is_the_best_one_equally_often(turn):
    best = [heights(problem, turn).index(1.0) for problem in range(400)]
    assert all(65 < best.count(c) < 135 for c in CATEGORIES)


def test_the_second_permutation_does_not_follow_from_the_first():
    best = [(heights(problem, 0).index(1.0), heights(problem, 20).index(1.0)) for problem in range(400)]
    assert len(set(best)) == 16
    assert 65 < sum(one == other for one, other in best) < 135


def test_the_gain_is_the_height_times_a_bump():
    rng = np.random.default_rng(0)
    for problem in range(20):
        turn, c, place = int(rng.integers(40)), int(rng.integers(4)), rng.uniform(size=2)
        top, height = bump(problem, turn, c)
        expected = height * math.exp(-np.sum((place - top) ** 2) / 0.08)
        assert gain(problem, turn, *map(float, place), c) == pytest.approx(expected, rel=1e-6)


def test_each_category_wanders_on_its_own_inside_the_box():
    for problem in range(20):
        paths = np.array([[bump(problem, turn, c)[0] for turn in range(40)] for c in CATEGORIES])
        assert ((paths > -1e-9) & (paths < 1 + 1e-9)).all()
        inner = ((paths > 0.02) & (paths < 0.98)).all(axis=2)
        steps = np.linalg.norm(np.diff(paths, axis=1), axis=2)
        assert steps[inner[:, 1:] & inner[:, :-1]] == pytest.approx(0.02)
        assert (steps < 0.02 + 1e-9).all()
        assert len({tuple(path) for path in paths[:, 0].round(6)}) == 4
        assert len({tuple(path) for path in (paths[:, 1] - paths[:, 0]).round(6)}) == 4


def test_the_score_sums_the_gains_along_the_line_of_descent():
    state, total = None, 0.0
    for turn in range(40):
        place = {"x0": turn / 40, "x1": 0.5, "c": turn % 4}
        state, metrics = drift_mixed(state, {**place, "problem": 2}, 1, turn)
        total += gain(2, turn, **place)
        assert metrics["true"] == pytest.approx(total)
