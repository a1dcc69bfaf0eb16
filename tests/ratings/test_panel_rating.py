"""The mean return against a panel, by hand."""

from __future__ import annotations

import pytest

from evolute.ratings.panel import rating


def test_every_opponent_counts_the_same_and_errors_add_up():
    assert rating([(2.0, 0.0, 4), (4.0, 0.0, 100)]) == (3.0, 0.0)
    mean, error = rating([(1.0, 2.0, 4), (3.0, 3.0, 9)])
    assert mean == 2.0
    assert error == pytest.approx((1 + 1) ** 0.5 / 2)
