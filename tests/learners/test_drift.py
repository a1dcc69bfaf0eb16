from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.learners.drift import drift

problems = st.integers(0, 10_000)


def gain(problem, turn, x0, x1):
    state = {"turn": turn, "total": 0.0}
    return drift(state, {"x0": x0, "x1": x1, "problem": problem}, 1, 0)[1]["true"]


def peak(problem, turn):
    """Where the peak is, found from what three corners gain: their squared distances are -0.08 ln(gain)."""
    corner, right, top = (-0.08 * math.log(gain(problem, turn, *place)) for place in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))
    return np.array([(corner - right + 1) / 2, (corner - top + 1) / 2])


def reflected(place):
    while place < 0 or place > 1:
        place = -place if place < 0 else 2 - place
    return place


@settings(max_examples=50, deadline=None)
@given(problems, st.integers(0, 39), st.floats(0, 1), st.floats(0, 1))
def test_the_gain_is_a_bump_around_the_peak(problem, turn, x0, x1):
    p0, p1 = peak(problem, turn)
    expected = math.exp(-((x0 - p0) ** 2 + (x1 - p1) ** 2) / (2 * 0.2**2))
    assert gain(problem, turn, x0, x1) == pytest.approx(expected, rel=1e-6)
    assert gain(problem, turn, p0, p1) == pytest.approx(1)


def test_the_peak_stays_in_the_unit_box_and_moves_by_0_02_a_turn_but_for_the_walls():
    walls = 0
    for problem in range(30):
        path = [peak(problem, turn) for turn in range(60)]
        assert all(((place > -1e-9) & (place < 1 + 1e-9)).all() for place in path)
        for one, other in pairwise(path):
            near_wall = min(one.min(), other.min(), 1 - one.max(), 1 - other.max()) < 0.02
            walls += near_wall
            distance = np.linalg.norm(other - one)
            assert distance == pytest.approx(0.02) if not near_wall else distance < 0.02 + 1e-9
    assert walls > 20


def test_the_path_is_straight_and_reflected_at_the_walls():
    checked = 0
    for problem in range(40):
        first, second = peak(problem, 0), peak(problem, 1)
        if min(first.min(), second.min(), 1 - first.max(), 1 - second.max()) < 0.02:
            continue
        checked += 1
        for turn in range(0, 120, 7):
            straight = first + turn * (second - first)
            assert peak(problem, turn) == pytest.approx([reflected(place) for place in straight], abs=1e-6)
    assert checked > 20


def test_starts_and_directions_are_spread_evenly_over_problems():
    starts = np.array([peak(problem, 0) for problem in range(800)])
    assert starts.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.04)
    assert starts.var(axis=0) == pytest.approx([1 / 12] * 2, abs=0.01)
    moves = np.array([peak(problem, 1) for problem in range(800)]) - starts
    free = moves[((starts > 0.02) & (starts < 0.98)).all(axis=1)] / 0.02
    assert free.mean(axis=0) == pytest.approx([0, 0], abs=0.08)
    assert free.var(axis=0) == pytest.approx([0.5, 0.5], abs=0.06)


def test_the_score_sums_the_gains_along_the_line_of_descent():
    state, total = None, 0.0
    for turn, (x0, x1) in enumerate([(0.5, 0.5), (0.2, 0.8), (0.9, 0.1), (0.5, 0.5)]):
        state, metrics = drift(state, {"x0": x0, "x1": x1, "problem": 3}, 1, turn)
        total += gain(3, turn, x0, x1)
        assert metrics["true"] == pytest.approx(total)


def test_the_path_belongs_to_the_problem_and_not_to_the_turn_seed():
    hparams = {"x0": 0.3, "x1": 0.6, "problem": 1}
    assert len({drift(None, hparams, 1, seed)[1]["true"] for seed in range(10)}) == 1
    assert len({drift(None, {**hparams, "problem": problem}, 1, 0)[1]["true"] for problem in range(10)}) == 10
