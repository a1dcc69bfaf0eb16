"""Crossover and mutation: bounds, means, and what each does to categories and whole numbers."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.space import Space
from evolute.strategies.variation import Variation, crossed, mutated

UNIT = st.floats(0.0, 1.0)
SPACE = Space(
    {"lr": Float(1e-5, 1e-1, log=True), "depth": Int(1, 5), "width": Ordinal(8, 16, 32), "act": Choice("a", "b", "c")}
)


@settings(max_examples=200, deadline=None)
@given(UNIT, UNIT, st.integers(0, 1000), st.sampled_from([0.0, 2.0, 20.0]))
def test_places_stay_in_the_unit_interval(one, other, seed, eta):
    rng = np.random.default_rng(seed)
    assert 0 <= crossed(one, other, eta, rng) <= 1
    assert 0 <= mutated(one, eta, rng) <= 1


@pytest.mark.parametrize(("one", "other"), [(0.3, 0.6), (0.5, 0.52), (0.8, 0.2)])
def test_crossover_keeps_the_mean_of_the_parents(one, other):
    rng = np.random.default_rng(1)
    children = np.array([crossed(one, other, 20.0, rng) for _ in range(20_000)])
    assert abs(children.mean() - (one + other) / 2) < 3 * children.std() / len(children) ** 0.5
    assert children.std() == pytest.approx(abs(one - other) / 2, rel=0.1)  # they stay near one parent or the other


def test_mutation_is_small_symmetric_in_the_middle_and_smaller_with_a_higher_eta():
    rng = np.random.default_rng(2)
    near, far = (np.array([mutated(0.5, eta, rng) for _ in range(20_000)]) for eta in (20.0, 5.0))
    assert abs(near.mean() - 0.5) < 3 * near.std() / len(near) ** 0.5
    assert near.std() < far.std() < 0.2


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000))
def test_children_lie_in_the_space_and_differ_from_their_parents(seed):
    rng = np.random.default_rng(seed)
    one, other = SPACE.sample(rng), SPACE.sample(rng)
    child = Variation().child(SPACE, one, other, rng)
    assert SPACE.contains(child)
    assert child not in (one, other)


def test_whole_numbers_move_when_they_mutate_and_categories_come_from_either_parent():
    rng = np.random.default_rng(3)
    one = {"lr": 1e-3, "depth": 3, "width": 16, "act": "a"}
    other = {"lr": 1e-3, "depth": 3, "width": 16, "act": "b"}
    always = Variation(crossover=0.0, mutation=1.0)
    assert all(always.child(SPACE, one, other, rng)["depth"] in (2, 4) for _ in range(50))
    never = Variation(crossover=1.0, mutation=0.0)
    kinds = Counter(never._child(SPACE, one, other, rng)["act"] for _ in range(4000))
    assert set(kinds) == {"a", "b"}
    assert kinds["b"] / 4000 == pytest.approx(0.25, abs=0.03)  # half of the values are crossed, half of these are the other's


@pytest.mark.parametrize("given", [{"crossover": 1.5}, {"mutation": -0.1}, {"crossover_eta": -1.0}, {"mutation_eta": -1.0}])
def test_settings_that_are_no_probability_are_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        Variation(**given)
