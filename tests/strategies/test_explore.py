from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from populations import FAILED, SPACE, evolved

from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.space import Space
from evolute.strategies.explore import copy, gaussian, perturb, redraw

RULES = {"perturb": perturb(), "moved": perturb(0.0), "drawn": perturb(1.0), "redraw": redraw(), "gaussian": gaussian()}
MIDDLE = Space({"a": Float(0.01, 100.0, log=True), "b": Float(0.01, 100.0, log=True)})


def children_of(rule, space, hparams, heirs, seed=0):
    """The hyper-parameters of `heirs` heirs of member 0 in one decision."""
    population = evolved([1.0] * (heirs + 1), hparams=lambda slot: hparams)
    children = rule(space, population, dict.fromkeys(range(1, heirs + 1), 0), np.random.default_rng(seed), {}).children
    assert sorted(children) == list(range(1, heirs + 1))
    return list(children.values())


def is_distinct(family):
    return all(one != other for one, other in itertools.combinations(family, 2))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("space", [SPACE, MIDDLE, Space({"h": Float(0, 1)}), Space({"h": Float(0.5, 8.0)})], ids=str)
def test_heirs_of_one_parent_differ_from_it_and_from_each_other(rule, space):
    for seed in range(50):
        parent = space.sample(np.random.default_rng(seed + 1000))
        children = children_of(rule, space, parent, 6, seed)
        assert all(map(space.contains, children))
        assert is_distinct([parent, *children])


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize(
    "param",
    [Choice("a", "b"), Choice("a", "b", "c"), Choice(*range(5)), Ordinal(8, 16, 32, 64, 128), Int(1, 16), Int(0, 7)],
    ids=str,
)
def test_heirs_use_up_a_space_before_two_are_equal(rule, param):
    space = Space({"h": param})
    values = range(param.low, param.high + 1) if isinstance(param, Int) else param.values
    for seed in range(20):
        for value in values:
            children = children_of(rule, space, {"h": value}, len(values) - 1, seed)
            assert is_distinct([{"h": value}, *children])


def test_a_space_with_fewer_values_than_heirs_still_gives_every_heir_valid_ones():
    space = Space({"h": Ordinal(8, 16)})
    children = children_of(perturb(), space, {"h": 8}, 5)
    assert all(map(space.contains, children))
    assert {"h": 16} in children


def test_a_parent_at_the_edge_of_a_range_has_heirs_unlike_itself():
    space = Space({"h": Float(0.5, 8.0)})
    for seed, end in itertools.product(range(30), (0.5, 8.0)):
        assert is_distinct([{"h": end}, *children_of(perturb(0.0), space, {"h": end}, 3, seed)])


@pytest.mark.parametrize("rule", [perturb(), redraw(), copy()])
def test_an_empty_space_has_nothing_to_explore(rule):
    assert children_of(rule, Space({}), {}, 3) == [{}, {}, {}]


def test_perturbing_moves_each_value_by_a_factor():
    ratios = [
        {name: round(child[name], 6) for name in "ab"} for child in children_of(perturb(0.0), MIDDLE, {"a": 1.0, "b": 1.0}, 4)
    ]
    assert sorted(map(str, ratios)) == sorted(str({"a": one, "b": other}) for one in (0.8, 1.2) for other in (0.8, 1.2))
    (child,) = children_of(perturb(0.0, (3.0,)), MIDDLE, {"a": 1.0, "b": 2.0}, 1)
    assert child == pytest.approx({"a": 3.0, "b": 6.0})


def explored(rule, space, hparams, count):
    return [children_of(rule, space, hparams, 1, seed)[0] for seed in range(count)]


@pytest.mark.parametrize(
    ("space", "parent"),
    [
        (MIDDLE, {"a": 1.0, "b": 1.0}),
        (Space({"a": Float(0, 1), "b": Float(0, 1)}), {"a": 0.5, "b": 0.5}),
        (Space({"a": Int(1, 1000), "b": Int(1, 1000)}), {"a": 50, "b": 50}),
        (Space({"a": Ordinal(1, 2, 3), "b": Ordinal(1, 2, 3)}), {"a": 2, "b": 2}),
        (Space({"a": Float(0.01, 100.0, log=True), "b": Ordinal(1, 2, 3)}), {"a": 1.0, "b": 2}),
    ],
    ids=str,
)
def test_parameters_move_independently(space, parent):
    children = explored(perturb(0.0), space, parent, 1500)
    moves = np.array([[child[name] - parent[name] for name in "ab"] for child in children])
    assert abs(np.corrcoef(moves.T)[0, 1]) < 0.1
    signs = {tuple(row) for row in np.sign(moves)}
    assert {(one, other) for one in (-1.0, 1.0) for other in (-1.0, 1.0)} <= signs


def test_parameters_are_resampled_independently_and_as_often_as_asked():
    children = explored(perturb(0.25), MIDDLE, {"a": 1.0, "b": 1.0}, 3000)
    drawn = np.array([[min(abs(child[name] - 0.8), abs(child[name] - 1.2)) > 1e-9 for name in "ab"] for child in children])
    assert drawn.mean(axis=0) == pytest.approx([0.25, 0.25], abs=0.03)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.08


def test_categories_move_independently_of_each_other():
    space = Space({"a": Choice("x", "y"), "b": Choice("x", "y")})
    children = [tuple(child.values()) for child in explored(perturb(0.0), space, {"a": "x", "b": "x"}, 900)]
    shares = [children.count(pair) / len(children) for pair in (("x", "y"), ("y", "x"), ("y", "y"))]
    assert shares == pytest.approx([1 / 3] * 3, abs=0.06)


def test_redrawing_ignores_the_parent():
    places = np.array([MIDDLE.encode(child) for child in explored(redraw(), MIDDLE, {"a": 0.01, "b": 100.0}, 1500)])
    assert places.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.03)
    assert places.std(axis=0) == pytest.approx([12**-0.5] * 2, abs=0.02)
    assert abs(np.corrcoef(places.T)[0, 1]) < 0.1


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_children_stay_in_the_space_and_leave_their_parent_as_it_was(seed, heirs):
    space = Space({**SPACE.params, "n": Int(1, 4), "act": Choice([1], [2, 2]), "size": Ordinal(8, 16)})
    parent = space.sample(np.random.default_rng(seed))
    before = dict(parent)
    for rule in (perturb(), perturb(0.0), redraw(), copy()):
        assert all(map(space.contains, children_of(rule, space, parent, heirs, seed)))
    assert parent == before


def test_heirs_evolve_from_the_latest_state_of_their_parent_even_if_it_failed_since():
    population = evolved([1.0, 2.0], [1.0, FAILED], hparams=lambda slot: {"a": 1.0 + slot, "b": 5.0})
    assert copy()(MIDDLE, population, {0: 1}, np.random.default_rng(0), {}).children == {0: {"a": 2.0, "b": 5.0}}


def test_a_parent_without_a_state_is_refused_by_name():
    population = evolved([1.0, FAILED])
    with pytest.raises(ValueError, match="member 1"):
        perturb()(SPACE, population, {0: 1}, np.random.default_rng(0), {})


@pytest.mark.parametrize("resample", [-0.1, 1.1])
def test_a_resample_that_is_no_probability_is_refused(resample):
    with pytest.raises(ValueError, match=f"resample={resample}"):
        perturb(resample)


def test_the_order_in_which_parents_are_named_does_not_matter():
    population = evolved([1.0] * 5)
    parents = {1: 0, 2: 4, 3: 0}
    backwards = dict(reversed(parents.items()))
    for rule in (perturb(), redraw()):
        children = [rule(SPACE, population, pairs, np.random.default_rng(0), {}).children for pairs in (parents, backwards)]
        assert children[0] == children[1]


def test_a_gaussian_step_is_a_tenth_of_the_range_on_its_own_scale():
    wide, narrow = Float(1e-6, 1.0, log=True), Float(10.0, 12.0)
    space = Space({"wide": wide, "narrow": narrow, "n": Int(0, 100), "c": Choice(*range(4))})
    parent = {"wide": 1e-3, "narrow": 11.0, "n": 50, "c": 2}
    children = [children_of(gaussian(0.0), space, parent, 1, seed)[0] for seed in range(600)]
    for name, param in (("wide", wide), ("narrow", narrow), ("n", space["n"])):
        moves = np.array([param.encode(child[name]) - 0.5 for child in children])
        assert abs(moves.mean()) < 0.015
        assert 0.09 < moves.std() < 0.11
    assert all(child["c"] == 2 and child["n"] != 50 for child in children)
    redrawn = [children_of(gaussian(0.25), space, parent, 1, seed)[0]["c"] for seed in range(600)]
    assert 0.13 < np.mean([value != 2 for value in redrawn]) < 0.25  # three of four draws are another one


def test_gaussian_steps_stay_inside_their_ranges():
    space = Space({"a": Float(0.8, 0.9999, complement=True), "b": Int(1, 3), "c": Ordinal(8, 16, 32)})
    for seed in range(200):
        parent = space.sample(np.random.default_rng(seed))
        assert all(map(space.contains, children_of(gaussian(), space, parent, 3, seed)))
    with pytest.raises(ValueError, match="must be a probability"):
        gaussian(1.5)
