from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.learners.deceptive import deceptive


def run(hs):
    state, scores = None, []
    for h in hs:
        state, metrics = deceptive(state, {"h": h}, 20, 0)
        assert metrics["true"] == metrics["score"]
        scores.append(metrics["score"])
    return scores


def expected(hs):
    theta, scores = 0.9, []
    for last in range(len(hs)):
        penalty = 0.0
        for k in range(last + 1):
            penalty += 0.2 * abs(hs[k] - (1 - 0.02 * k))
        rate = 2 - hs[last] - penalty
        for _ in range(20):
            theta -= 0.002 * max(rate, 0.0) * theta
        scores.append(1.2 - theta * theta)
    return scores


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(1e-4, 1.1), min_size=1, max_size=50))
def test_the_score_follows_the_definition_along_the_line_of_descent(hs):
    assert run(hs) == pytest.approx(expected(hs))


def test_keeping_to_the_schedule_costs_nothing():
    hs = [1 - 0.02 * k for k in range(50)]
    theta = 0.9
    for h in hs:
        theta *= (1 - 0.002 * (2 - h)) ** 20
    assert run(hs)[-1] == pytest.approx(1.2 - theta**2)


def test_greed_gains_at_once_and_loses_in_the_end():
    greedy, patient = run([0.9] + [1e-4] * 49), run([1 - 0.02 * k for k in range(50)])
    assert greedy[1] > patient[1]
    assert greedy[-1] < patient[-1]


def test_two_heirs_of_one_state_remember_their_own_past_only():
    parent, _ = deceptive(None, {"h": 1.0}, 20, 0)
    for h in (1.0, 0.5):
        child, _ = deceptive(parent, {"h": h}, 20, 0)
        assert deceptive(child, {"h": 0.9}, 20, 0)[1]["score"] == pytest.approx(expected([1.0, h, 0.9])[-1])
