from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.param import Choice, Float, Int, Ordinal, Param
from evolute.core.space import Space

FLOATS = [
    Float(0, 1),
    Float(0.0, 0.1),
    Float(-1.0, 0.0),
    Float(-2.0, 3.0),
    Float(-3.0, -0.5),
    Float(0.05, 0.5),
    Float(1e-5, 1e-2, log=True),
    Float(0.9, 0.9999, complement=True),
    Float(-2.0, 0.5, complement=True),
    Float(1e-4, 1.1, start=(0.9, 1.1)),
    Float(1e-4, 1.0, log=True, start=(1e-2, 1e-1)),
    Float(0.5, 0.999, complement=True, start=(0.9, 0.99)),
]
INTS = [
    Int(1, 16),
    Int(2, 40),
    Int(0, 1),
    Int(1, 2),
    Int(0, 7),
    Int(-3, 3),
    Int(-5, 0),
    Int(-9, -2),
    Int(-2, -1),
    Int(1, 2, log=True),
    Int(7, 8, log=True),
    Int(1, 1000, log=True),
]
LISTED = [
    Choice("relu", "tanh"),
    Choice(True, False),
    Choice(0, 1, 2, 3),
    Choice(1, True, 1.0, "1"),
    Choice([64, 64], [32], []),
    Choice(None, 0.5),
    Ordinal(16, 32, 64, 128, 256),
    Ordinal("small", "large"),
    Ordinal([8, 8], [16, 16], [32, 32]),
]
PARAMS = [*FLOATS, *INTS, *LISTED]

seeds = st.integers(0, 2**32 - 1)
units = st.floats(0, 1)


@st.composite
def float_params(draw):
    kind = draw(st.sampled_from(["linear", "log", "complement"]))
    if kind == "linear":
        low = draw(st.floats(-1e3, 1e3) | st.just(0.0))
        high = draw(st.just(low + draw(st.floats(1e-3, 1e3))) | st.just(0.0) if low < -1e-3 else st.floats(low + 1e-3, 2e3))
        return Float(low, high, start=draw(starts(low, high)))
    first, second = sorted((draw(st.floats(-6, 2)), draw(st.floats(-6, 2))))
    low, high = 10**first, 10 ** (second + 0.1)
    if kind == "complement":
        low, high = 1 - high, 1 - low
    return Float(low, high, log=kind == "log", complement=kind == "complement", start=draw(starts(low, high)))


def starts(low, high):
    pair = st.tuples(st.floats(low, high), st.floats(low, high)).map(lambda ends: (min(ends), max(ends)))
    return st.none() | pair


@st.composite
def int_params(draw):
    log = draw(st.booleans())
    low = draw(st.integers(1, 10**4) if log else st.integers(-(10**4), 10**4) | st.integers(-3, 3))
    return Int(low, low + draw(st.integers(1, 5) | st.integers(1, 10**6)), log=log)


def listed_params():
    value = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 0.5, 1.0]) | st.text(max_size=2)
    value |= st.lists(st.integers(0, 2), max_size=2)
    values = st.lists(value, min_size=2, max_size=6, unique_by=lambda one: (type(one), repr(one)))
    return st.builds(lambda kind, chosen: kind(*chosen), st.sampled_from([Choice, Ordinal]), values)


params = float_params() | int_params() | listed_params()


def is_valid(param, value):
    """Bounds and type, said again without the code under test."""
    if isinstance(param, Float):
        return type(value) is float and param.low <= value <= param.high
    if isinstance(param, Int):
        return type(value) is int and param.low <= value <= param.high
    return any(type(value) is type(other) and value == other for other in param.values)


def values_of(param):
    return list(range(param.low, param.high + 1)) if isinstance(param, Int) else list(param.values)


def mutate_and_check(param, rng, rounds):
    value = param.sample(rng)
    for _ in range(rounds):
        new = [param.perturb(value, rng, (0.8, 1.2)), param.sample(rng), param.decode(rng.uniform())]
        for one in new:
            assert is_valid(param, one), f"{one!r} is no value of {param}"
            assert param.contains(one)
        value = new[int(rng.integers(3))]


@pytest.mark.parametrize("param", PARAMS, ids=repr)
def test_mutations_stay_in_bounds_and_type(param):
    mutate_and_check(param, np.random.default_rng(0), 350)


@settings(max_examples=100, deadline=None)
@given(params, seeds)
def test_a_hundred_thousand_mutations_of_any_param_stay_in_bounds_and_type(param, seed):
    mutate_and_check(param, np.random.default_rng(seed), 350)


@settings(max_examples=100, deadline=None)
@given(params, seeds, st.sampled_from([(0.8, 1.2), (0.5, 2.0), (0.0, 10.0), (1.0,)]))
def test_perturbing_either_end_stays_in_bounds_and_type(param, seed, factors):
    rng = np.random.default_rng(seed)
    for value in (param.decode(0.0), param.decode(1.0)) * 10:
        assert is_valid(param, param.perturb(value, rng, factors))


@settings(max_examples=100, deadline=None)
@given(float_params() | int_params(), st.floats(-1e9, 1e9), seeds)
def test_a_number_from_outside_the_bounds_comes_back_inside(param, value, seed):
    assert is_valid(param, param.clip(value))
    assert is_valid(param, param.perturb(value, np.random.default_rng(seed)))
    assert 0 <= param.encode(value) <= 1


@settings(max_examples=50, deadline=None)
@given(params, st.floats(-10, 10))
def test_a_place_outside_the_unit_interval_is_its_nearer_end(param, place):
    assert param.decode(place) == param.decode(min(max(place, 0.0), 1.0))


@pytest.mark.parametrize("param", [*INTS, Int(0, 400), Int(-400, -1), *LISTED], ids=repr)
def test_every_value_reaches_every_other_by_perturbing_alone(param):
    rng = np.random.default_rng(1)
    values = values_of(param)
    place = {repr(value): at for at, value in enumerate(values)}
    onward = [{place[repr(param.perturb(value, rng))] for _ in range(120)} for value in values]
    backward = [set() for _ in values]
    for at, following in enumerate(onward):
        for other in following:
            backward[other].add(at)
    assert reached(onward) == reached(backward) == set(range(len(values)))


def reached(edges):
    """Every node that can be reached from the first one."""
    seen, stack = {0}, [0]
    while stack:
        for other in edges[stack.pop()] - seen:
            seen.add(other)
            stack.append(other)
    return seen


@pytest.mark.parametrize(
    "param", [Float(1e-5, 1e-2, log=True), Float(0.05, 0.5), Float(-3.0, -0.5), Float(0.9, 0.9999, complement=True)], ids=repr
)
def test_a_range_away_from_zero_moves_by_the_factors(param):
    rng = np.random.default_rng(2)
    value = param.decode(0.5)
    scale = (lambda one: 1 - one) if param.complement else (lambda one: one)
    ratios = [scale(param.perturb(value, rng)) / scale(value) for _ in range(400)]
    assert {round(ratio, 6) for ratio in ratios} == {0.8, 1.2}
    assert 0.4 < np.mean(np.array(ratios) > 1) < 0.6


@pytest.mark.parametrize("param", [Float(0, 1), Float(0, 20), Float(-2.0, 3.0), Float(-1.0, 0.0)], ids=repr)
def test_a_range_that_touches_zero_moves_by_a_tenth_of_itself(param):
    rng = np.random.default_rng(3)
    middle = (param.low + param.high) / 2
    moves = [param.perturb(middle, rng) - middle for _ in range(4000)]
    assert np.std(moves) == pytest.approx(0.1 * (param.high - param.low), rel=0.05)
    assert np.mean(moves) == pytest.approx(0, abs=0.01 * (param.high - param.low))
    assert np.mean([param.perturb(0.0, rng) == 0 for _ in range(200)]) < 0.7


def test_integers_move_down_as_often_as_up():
    rng = np.random.default_rng(4)
    for value in (2, 4, 13):
        moves = np.array([Int(1, 100).perturb(value, rng) - value for _ in range(1000)])
        assert (moves != 0).all()
        assert 0.45 < np.mean(moves > 0) < 0.55
        assert np.mean(np.abs(moves)) == pytest.approx(max(1, 0.2 * value), rel=0.1)


def test_an_ordinal_moves_to_a_neighbour_in_its_order():
    sizes = Ordinal(16, 64, 32, 128)
    rng = np.random.default_rng(5)
    moves = {value: {sizes.perturb(value, rng) for _ in range(100)} for value in sizes.values}
    assert moves == {16: {16, 64}, 64: {16, 32}, 32: {64, 128}, 128: {32, 128}}


def test_a_category_moves_to_all_others_alike():
    rng = np.random.default_rng(6)
    moved = [Choice("a", "b", "c", "d").perturb("b", rng) for _ in range(4000)]
    others = [moved.count(value) for value in "acd"]
    assert sum(others) > 1000
    assert min(others) > 0.8 * max(others)


@settings(max_examples=300, deadline=None)
@given(int_params() | listed_params(), units)
def test_discrete_values_come_back_from_the_unit_interval(param, unit):
    value = param.decode(unit)
    place = param.encode(value)
    assert 0 <= place <= 1
    again = param.decode(place)
    assert again == value
    assert type(again) is type(value)


@settings(max_examples=300, deadline=None)
@given(float_params(), units)
def test_floats_come_back_from_the_unit_interval(param, unit):
    value = param.decode(unit)
    assert param.encode(value) == pytest.approx(unit, abs=1e-6)
    assert param.decode(param.encode(value)) == pytest.approx(value, rel=1e-9, abs=1e-9 * (param.high - param.low))


@pytest.mark.parametrize("param", [*INTS, *LISTED], ids=repr)
def test_every_discrete_value_has_its_own_place(param):
    values = values_of(param)
    places = [param.encode(value) for value in values]
    assert places == sorted(set(places))
    for value, place in zip(values, places, strict=True):
        assert param.decode(place) == value
        assert type(param.decode(place)) is type(value)


@pytest.mark.parametrize("param", [*FLOATS, *INTS], ids=repr)
def test_the_unit_interval_spans_the_whole_range(param):
    assert {param.encode(param.low), param.encode(param.high)} == {0.0, 1.0}
    assert sorted((param.decode(0.0), param.decode(1.0))) == pytest.approx([param.low, param.high])


@pytest.mark.parametrize(
    ("param", "middle"),
    [
        (Float(0, 10), 5.0),
        (Float(1e-4, 1e-2, log=True), 1e-3),
        (Float(0.9, 0.999, complement=True), 0.99),
        (Int(0, 100), 50),
        (Int(1, 10_000, log=True), 100),
    ],
    ids=repr,
)
def test_the_middle_is_geometric_on_a_log_scale(param, middle):
    assert param.decode(0.5) == pytest.approx(middle)
    assert param.encode(middle) == pytest.approx(0.5)


def uniformity(places):
    """The largest distance between the distribution of `places` and the uniform one (Kolmogorov, Smirnov), times sqrt(n)."""
    places = np.sort(places)
    count = len(places)
    steps = np.arange(count + 1) / count
    return math.sqrt(count) * max(np.max(steps[1:] - places), np.max(places - steps[:-1]))


@pytest.mark.parametrize(
    ("param", "scale", "low", "high"),
    [
        (Float(-2.0, 3.0), float, -2.0, 3.0),
        (Float(1e-5, 1e-2, log=True), math.log, 1e-5, 1e-2),
        (Float(0.9, 0.9999, complement=True), lambda value: -math.log(1 - value), 0.9, 0.9999),
        (Float(1e-4, 1.1, start=(0.9, 1.1)), float, 0.9, 1.1),
        (Float(1e-4, 1.0, log=True, start=(1e-3, 1e-1)), math.log, 1e-3, 1e-1),
        (Float(0.5, 0.999, complement=True, start=(0.9, 0.99)), lambda value: -math.log(1 - value), 0.9, 0.99),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0],
)
def test_floats_are_drawn_uniformly_on_their_own_scale(param, scale, low, high):
    """`start` narrows the draw for a fresh member and no other."""
    rng = np.random.default_rng(7)
    for draw, bottom, top in ((param.first, low, high), (param.sample, param.low, param.high)):
        places = np.array([scale(draw(rng)) - scale(bottom) for _ in range(4000)]) / (scale(top) - scale(bottom))
        assert uniformity(places) < 1.63


@pytest.mark.parametrize("param", [Int(1, 8), Int(-3, 3), *LISTED], ids=repr)
def test_discrete_values_are_drawn_with_equal_chances_the_ends_included(param):
    rng = np.random.default_rng(8)
    values = values_of(param)
    drawn = [repr(param.sample(rng)) for _ in range(1000 * len(values))]
    counts = [drawn.count(repr(value)) for value in values]
    assert min(counts) > 850
    assert max(counts) < 1150


def test_log_integers_are_drawn_uniformly_in_log_each_with_the_width_of_its_cell():
    rng = np.random.default_rng(9)
    drawn = np.array([Int(4, 64, log=True).sample(rng) for _ in range(20_000)])
    cells = np.log(np.arange(4, 65) + 0.5) - np.log(np.arange(4, 65) - 0.5)
    expected = len(drawn) * cells / cells.sum()
    counts = np.array([(drawn == value).sum() for value in range(4, 65)])
    assert np.sum((counts - expected) ** 2 / expected) < 100.0  # chi-squared, 60 degrees of freedom, p < 0.001


@pytest.mark.parametrize(
    ("make", "given_", "why"),
    [
        (lambda: Float(2, 1), "[2, 1]", "lower bound must lie below"),
        (lambda: Float(1, 1), "[1, 1]", "lower bound must lie below"),
        (lambda: Float(math.nan, 1), "[nan, 1]", "finite"),
        (lambda: Float(0, math.inf), "[0, inf]", "finite"),
        (lambda: Float(0, 1, log=True), "log[0, 1]", "above 0"),
        (lambda: Float(-1, 1, log=True), "log[-1, 1]", "above 0"),
        (lambda: Float(0.5, 1, complement=True), "1-log[0.5, 1]", "below 1"),
        (lambda: Float(0.5, 2, complement=True), "1-log[0.5, 2]", "below 1"),
        (lambda: Float(0.1, 0.5, log=True, complement=True), "[0.1, 0.5]", "not both"),
        (lambda: Float(0, 1, start=(0.5, 2)), "from [0.5, 2]", "inside [0, 1]"),
        (lambda: Float(0, 1, start=(-0.5, 0.5)), "from [-0.5, 0.5]", "inside [0, 1]"),
        (lambda: Float(0, 1, start=(0.6, 0.4)), "from [0.6, 0.4]", "inside [0, 1]"),
        (lambda: Int(5, 5), "int[5, 5]", "lower bound must lie below"),
        (lambda: Int(5, 2), "int[5, 2]", "lower bound must lie below"),
        (lambda: Int(0, 8, log=True), "int-log[0, 8]", "above 0"),
        (lambda: Int(-4, 8, log=True), "int-log[-4, 8]", "above 0"),
        (lambda: Int(0, 2.5), "int[0, 2.5]", "whole numbers"),
        (lambda: Int(0, math.inf), "int[0, inf]", "finite"),
        (Choice, "choice[]", "at least two"),
        (lambda: Choice("relu"), "choice[relu]", "at least two"),
        (lambda: Choice("relu", "tanh", "relu"), "choice[relu, tanh, relu]", "'relu' is listed twice"),
        (lambda: Choice([64], [64]), "choice[[64], [64]]", "[64] is listed twice"),
        (lambda: Ordinal(16), "ordinal[16]", "at least two"),
        (lambda: Ordinal(16, 32, 16), "ordinal[16, 32, 16]", "16 is listed twice"),
        (lambda: Choice("relu", "tanh").clip("elu"), "choice[relu, tanh]", "'elu' is not one of"),
        (lambda: Ordinal(16, 32).encode(24), "ordinal[16, 32]", "24 is not one of"),
    ],
)
def test_a_wrong_param_is_refused_and_the_error_says_what_was_given_and_why(make, given_, why):
    with pytest.raises(ValueError, match=re.escape(given_)) as error:
        make()
    assert why in str(error.value)


@pytest.mark.parametrize(
    ("param", "strangers"),
    [
        (Float(0, 1), [0, 1, True, -0.1, 1.1, math.nan, math.inf, "0.5", None]),
        (Int(0, 8), [0.0, 4.0, True, -1, 9, "4", None]),
        (Choice(0, 1, "a"), [False, True, 0.0, 2, "b", None]),
        (Ordinal(16, 32), [16.0, 24, "16", None]),
    ],
    ids=repr,
)
def test_a_param_contains_no_value_of_another_type_or_beyond_its_bounds(param, strangers):
    assert [stranger for stranger in strangers if param.contains(stranger)] == []


@pytest.mark.parametrize("param", PARAMS, ids=repr)
def test_every_kind_is_a_param(param):
    assert isinstance(param, Param)


SPACE = Space({"lr": Float(1e-5, 1e-2, log=True), "epochs": Int(1, 16), "act": Choice("relu", "tanh"), "n": Ordinal(8, 16, 32)})


@settings(max_examples=50, deadline=None)
@given(seeds)
def test_a_space_maps_to_the_unit_cube_and_back(seed):
    hparams = SPACE.sample(np.random.default_rng(seed))
    assert SPACE.contains(hparams)
    places = SPACE.encode(hparams)
    assert places.shape == (4,)
    assert places.dtype == np.float64
    assert ((places >= 0) & (places <= 1)).all()
    assert places.tolist() == [param.encode(hparams[name]) for name, param in SPACE.items()]
    again = SPACE.decode(places)
    assert again == {**hparams, "lr": pytest.approx(hparams["lr"])}
    assert SPACE.contains(again)


def test_a_space_contains_neither_fewer_nor_more_nor_wrong_names():
    whole = SPACE.sample(np.random.default_rng(0))
    part = {name: whole[name] for name in ("lr", "epochs", "act")}
    assert SPACE.contains(whole)
    assert not SPACE.contains(part)
    assert not SPACE.contains({**whole, "gamma": 0.9})
    assert not SPACE.contains({**part, "m": 8})
    assert not SPACE.contains({**whole, "epochs": 17})


def test_params_of_a_space_are_drawn_independently():
    rng = np.random.default_rng(10)
    drawn = np.array([list(Space({"a": Float(0, 1), "b": Float(0, 1)}).sample(rng).values()) for _ in range(4000)])
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.05


def test_a_place_with_the_wrong_number_of_coordinates_is_refused():
    with pytest.raises(ValueError, match="argument"):
        SPACE.decode([0.5, 0.5, 0.5])


def test_an_empty_space_holds_the_empty_hparams_only():
    empty = Space({})
    assert empty.sample(np.random.default_rng(0)) == {}
    assert empty.contains({})
    assert not empty.contains({"lr": 0.1})
    assert empty.decode(empty.encode({})) == {}


@pytest.mark.parametrize("value", [{1, 2}, math.nan, object()])
def test_a_category_that_the_journal_could_not_keep_is_refused(value):
    with pytest.raises(ValueError, match="values must be numbers, words, true, false, null or lists of them"):
        Choice("a", value)
