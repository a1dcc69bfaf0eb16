from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.learners.toy import toy

shares = st.floats(0, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(shares, shares, st.integers(1, 20)), min_size=1, max_size=5))
def test_each_step_descends_by_the_share_that_the_surrogate_sees(turns):
    state, theta = None, [0.9, 0.9]
    for h0, h1, steps in turns:
        state, metrics = toy(state, {"h0": h0, "h1": h1}, steps, 0)
        theta = [theta[0] * (1 - 0.04 * h0) ** steps, theta[1] * (1 - 0.04 * h1) ** steps]
        assert state["theta"].tolist() == pytest.approx(theta)
        assert metrics["score"] == pytest.approx(1.2 - theta[0] ** 2 - theta[1] ** 2)
        assert [metrics["theta0"], metrics["theta1"]] == pytest.approx(theta)


def test_one_hidden_parameter_holds_the_score_at_0_39():
    state, metrics = None, {}
    for _ in range(50):
        state, metrics = toy(state, {"h0": 1.0, "h1": 0.0}, 4, 0)
    assert metrics["score"] == pytest.approx(0.39, abs=1e-6)
    assert metrics["theta1"] == 0.9


def test_no_step_leaves_the_start_where_it_is():
    assert toy(None, {"h0": 1.0, "h1": 1.0}, 0, 0)[1]["score"] == pytest.approx(1.2 - 2 * 0.81)
