from __future__ import annotations

import pytest

from evolute.learners.tradeoff import tradeoff


def skills(*turns):
    state = None
    for w, s in turns:
        state, metrics = tradeoff(state, {"w": w, "s": s}, 1, 0)
    return metrics["true_a"], metrics["true_b"]


def test_a_turn_follows_the_definition():
    a, b = skills((0.8, 0.5))
    assert (a, b) == pytest.approx((0.25 * 0.8, 0.25 * 0.2))
    assert skills((0.8, 0.5), (0.3, 0.5)) == pytest.approx(
        (a + 0.25 * (0.3 * (1 - a) - 0.3 * 0.7 * a), b + 0.25 * (0.7 * (1 - b) - 0.3 * 0.3 * b))
    )


def test_what_is_not_worked_on_is_forgotten_and_learning_is_fastest_in_the_middle():
    assert skills(*[(1.0, 0.5)] * 5, *[(0.0, 0.5)] * 5)[0] < skills(*[(1.0, 0.5)] * 5)[0]
    assert skills((1.0, 0.5)) > skills((1.0, 0.3)) > skills((1.0, 0.0))


def test_skills_are_seen_with_noise_and_the_score_is_their_sum():
    _, metrics = tradeoff(None, {"w": 0.5, "s": 0.5}, 1, seed=3)
    assert metrics["score"] == pytest.approx(metrics["a"] + metrics["b"])
    assert metrics["a"] != metrics["true_a"]
    assert metrics["a"] == pytest.approx(metrics["true_a"], abs=0.06)
