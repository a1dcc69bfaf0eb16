from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.learners.triangle import triangle

seeds = st.integers(0, 2**31 - 1)
rates = st.floats(1e-4, 2e-2)


def best_rate(a):
    return float(np.clip(0.01 * a / 100 if a < 100 else 0.02 - 0.01 * a / 100, 0.001, 0.01))


def expected(a, h, seed):
    draws = iter(np.random.default_rng(seed).uniform(size=5))
    for _ in range(5):
        o = best_rate(a)
        q = h / o if h > o else o / h
        if q < 3:
            a += next(draws) / q
        elif h > o:
            a -= (q - 3) * next(draws)
        a = max(a, 0.0)
    return a


def after(a, h, seed):
    return triangle({"progress": a}, {"h": h}, 5, seed)[1]["true"]


@settings(max_examples=300, deadline=None)
@given(st.floats(0, 250) | st.just(100.0), rates, seeds)
def test_a_turn_follows_the_definition(a, h, seed):
    assert after(a, h, seed) == pytest.approx(expected(a, h, seed), rel=1e-9, abs=1e-9)


def test_progress_begins_at_nothing():
    assert [triangle(None, {"h": 1e-3}, 5, seed)[1]["true"] for seed in range(5)] == [
        after(0.0, 1e-3, seed) for seed in range(5)
    ]


@pytest.mark.parametrize(
    ("a", "h", "mean", "spread"),
    [
        (100.0, 0.01, 2.5, 0.1),
        (100.0, 0.005, 1.25, 0.05),
        (100.0, 0.02, 1.25, 0.05),
        (100.0, 0.002, 0.0, 0.0),
        (50.0, 0.02, -2.7, 0.2),
        (250.0, 0.001, 2.5, 0.1),
        (250.0, 0.006, -7.5, 0.3),
        (0.0, 0.02, 0.0, 0.0),
    ],
)
def test_what_a_rate_brings_on_average(a, h, mean, spread):
    gains = [after(a, h, seed) - a for seed in range(1000)]
    assert np.mean(gains) == pytest.approx(mean, abs=spread)


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 5), seeds)
def test_progress_is_never_negative(a, seed):
    assert after(a, 2e-2, seed) >= 0
