"""Ranges as people write them, and back."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from evolute.config.ranges import looks_like_range, parse_range
from evolute.core.param import Choice, Float, Int, Ordinal


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("log[1e-5, 1e-2]", Float(1e-5, 1e-2, log=True)),
        ("log[1e-5,1e-2]", Float(1e-5, 1e-2, log=True)),
        ("  log [ 1e-5 , 1e-2 ] ", Float(1e-5, 1e-2, log=True)),
        ("[0, 1]", Float(0.0, 1.0)),
        ("float[-1, 1]", Float(-1.0, 1.0)),
        ("int[1, 16]", Int(1, 16)),
        ("int[1.0, 16]", Int(1, 16)),
        ("int-log[1, 1000]", Int(1, 1000, log=True)),
        ("int-log[1, 1_000]", Int(1, 1000, log=True)),
        ("choice[relu, tanh]", Choice("relu", "tanh")),
        ("choice[1, 1.0, true, '1']", Choice(1, 1.0, True, "1")),
        ("choice[[64, 64], [128, 128]]", Choice([64, 64], [128, 128])),
        ("choice['a, b', c]", Choice("a, b", "c")),
        ("choice[on, off]", Choice("on", "off")),
        ("ordinal[32, 64, 128]", Ordinal(32, 64, 128)),
        ("1-log[0.9, 0.9999]", Float(0.9, 0.9999, complement=True)),
        ("float[1e-4, 1.1] from [0.9, 1.1]", Float(1e-4, 1.1, start=(0.9, 1.1))),
        ("[1e-4, 1.1] from [0.9, 1.1]", Float(1e-4, 1.1, start=(0.9, 1.1))),
        ("log[1e-5, 1e-2] from [1e-4, 1e-3]", Float(1e-5, 1e-2, log=True, start=(1e-4, 1e-3))),
        ("1-log[0.9, 0.999] from [0.98, 0.99]", Float(0.9, 0.999, complement=True, start=(0.98, 0.99))),
    ],
)
def test_every_form_is_understood(text, param):
    assert looks_like_range(text)
    parsed = parse_range(text)
    assert parsed == param
    assert type(parsed) is type(param)
    assert repr(parsed) == repr(param), "equal in the types of its bounds too"


@pytest.mark.parametrize("value", ["relu", "log", "1e-5", "", 3, [0, 1], None, "0, 1"])
def test_other_values_are_no_ranges(value):
    assert not looks_like_range(value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lg[1e-5, 1e-2]", r"no range is called 'lg'; did you mean 'log'\?"),
        ("1log[0.9, 0.99]", r"did you mean '1-log'\?"),
        ("choices[a, b]", r"did you mean 'choice'\?"),
        ("[1]", "two numbers"),
        ("[1, 2, 3]", "two numbers"),
        ("[]", "two numbers"),
        ("log[a, b]", "two numbers"),
        ("log[1e-5 1e-2]", "two numbers"),
        ("int[true, 3]", "two numbers"),
        ("[0, 1] from [0.5]", "two numbers"),
        ("[2, 1]", "lower bound must lie below"),
        ("int[3, 3]", "lower bound must lie below"),
        ("[0, .inf]", "finite"),
        ("[.nan, 1]", "finite"),
        ("log[0, 1]", "above 0"),
        ("log[-1, 1]", "above 0"),
        ("int-log[0, 10]", "above 0"),
        ("1-log[0.9, 1]", "below 1"),
        ("int[0.5, 3]", "whole numbers"),
        ("int[1, 3] from [1, 2]", "only float, log and 1-log"),
        ("choice[a, b] from [1, 2]", "only float, log and 1-log"),
        ("[0, 1] from [0.5, 2]", "must lie inside"),
        ("[0, 1] from [0.6, 0.5]", "inside|below"),
        ("choice[a]", "at least two values"),
        ("ordinal[]", "at least two values"),
        ("choice[a, b, a]", "'a' is listed twice"),
        ("choice[a, [b]", "cannot read"),
        ("log(1, 2)", "not a range"),
        ("log", "not a range"),
    ],
)
def test_a_bad_range_says_what_is_wrong(text, said):
    with pytest.raises(ValueError, match=said) as error:
        parse_range(text)
    assert text.split("[", maxsplit=1)[0].split("(")[0] in str(error.value)


BOUNDS = st.floats(allow_nan=False, allow_infinity=False, width=64)
WORDS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | BOUNDS | WORDS, lambda inner: st.lists(inner, max_size=3), max_leaves=4
)


@st.composite
def floats(draw):
    kind = draw(st.sampled_from(["linear", "log", "complement"]))
    bounds = {
        "linear": BOUNDS,
        "log": st.floats(1e-300, 1e300),
        "complement": st.floats(-1e3, 1, exclude_max=True),
    }[kind]
    points = sorted(draw(st.lists(bounds, min_size=4, max_size=4)))
    assume(points[0] < points[3])
    start = (points[1], points[2]) if draw(st.booleans()) else None
    return Float(points[0], points[3], log=kind == "log", complement=kind == "complement", start=start)


@st.composite
def ints(draw):
    log = draw(st.booleans())
    low, high = sorted(draw(st.lists(st.integers(1 if log else -(10**6), 10**6), min_size=2, max_size=2, unique=True)))
    return Int(low, high, log=log)


@st.composite
def lists(draw):
    values = draw(st.lists(VALUES, min_size=2, max_size=4, unique_by=lambda value: (type(value).__name__, repr(value))))
    assume(all(not (type(a) is type(b) and a == b) for place, a in enumerate(values) for b in values[:place]))
    return draw(st.sampled_from([Choice, Ordinal]))(*values)


@given(floats() | ints())
def test_the_text_of_a_numeric_range_parses_back_to_it(param):
    assert looks_like_range(str(param))
    assert parse_range(str(param)) == param


@given(lists())
def test_the_text_of_a_list_of_values_parses_back_to_it(param):
    parsed = parse_range(str(param))
    assert repr(parsed) == repr(param), "a resumed run reads its space from this text"
    assert type(parsed) is type(param)


@pytest.mark.parametrize(
    ("one", "other"),
    [(Choice(1, 2), Choice("1", "2")), (Choice("a, b", "c"), Choice("a", "b", "c")), (Choice(True, 0), Choice("True", 0))],
)
def test_different_lists_of_values_have_different_texts(one, other):
    assert str(one) != str(other)


@pytest.mark.parametrize(("given", "read"), [(Float(0, 1), "[0, 1]"), (Float(1, 8, log=True), "log[1, 8]")])
def test_whole_bounds_given_in_python_have_the_text_of_the_same_range_in_yaml(given, read):
    assert str(given) == str(parse_range(read))
