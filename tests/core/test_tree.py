"""States as bytes: they come back as they went in, and no damaged byte goes unnoticed."""

from __future__ import annotations

import hashlib
import math
import struct
import subprocess
import sys
from collections import namedtuple
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from evolute.core.tree import DamagedError, Record, canonical, digest, pack, unpack

DTYPES = [
    np.dtype(order + kind)
    for order in "<>"
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", "U3", "M8[s]", "m8[ms]")
] + [np.dtype(kind) for kind in ("?", "i1", "u1", "S3")]
Pair = namedtuple("Pair", "x y")


def arrays():
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
    return st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, shapes))


def scalars():
    return arrays().filter(lambda array: array.size > 0).map(lambda array: array.reshape(-1)[0])


def trees():
    leaves = st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=5), arrays(), scalars()
    )
    keys = st.text(max_size=3) | st.integers()
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=8,
    )


def same(one, other):
    """Equal in type, byte for byte; nan equals nan, and 0.0 is not -0.0."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    if isinstance(one, float):
        return struct.pack("d", one) == struct.pack("d", other) or (math.isnan(one) and math.isnan(other))
    return one == other


def packed(tree):
    return b"".join(pack(tree))


@given(trees())
def test_a_tree_comes_back_as_it_went_in(tree):
    again, mark = unpack(packed(tree))
    assert same(again, tree)
    assert mark == digest(tree)


@given(trees())
def test_the_canonical_form_is_what_unpacking_gives(tree):
    assert same(canonical(tree), unpack(packed(tree))[0])
    assert digest(canonical(tree)) == digest(tree)


@pytest.mark.parametrize(
    "leaf",
    [
        np.arange(12).reshape(3, 4).T,
        np.arange(12)[::-2],
        np.broadcast_to(np.float32(1), (2, 3)),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.array(3.5),
        np.zeros((0, 3)),
        np.zeros((2, 0), dtype="U4"),
        np.array([1.5, math.nan, math.inf], dtype=">f8"),
        np.float32(0.1),
        np.bool_(True),
        np.str_(""),
        np.bytes_(b""),
        np.datetime64("2024-01-31"),
        math.nan,
        -math.inf,
        -0.0,
        10**40,
        b"",
        b"\x00\xff",
        "snow \u2603 \ud800",
        (),
        [],
        {},
        {1: "a", "1": "b", -5: None, "": [()]},
        ((1, [2, (3,)]),),
    ],
    ids=repr,
)
def test_unusual_leaves_come_back(leaf):
    assert same(unpack(packed({"x": leaf}))[0], {"x": leaf})


def test_unpacked_arrays_belong_to_the_reader():
    data = bytearray(packed({"x": np.zeros(3)}))
    tree, _ = unpack(data)
    tree["x"][:] = 1
    assert same(unpack(data)[0], {"x": np.zeros(3)})


def distinct():
    """Trees that are easily mistaken for one another."""
    return [
        1,
        1.0,
        True,
        "1",
        b"1",
        None,
        math.nan,
        "nan",
        0,
        0.0,
        -0.0,
        [1],
        (1,),
        {"a": 1},
        {"a": 1.0},
        {1: 1},
        {"1": 1},
        [["a", 1]],
        [],
        (),
        {},
        [[]],
        np.int64(1),
        np.int32(1),
        np.array(1),
        np.array([1]),
        np.array([[1]]),
        np.array([1], dtype=">i8"),
        np.array([1.0]),
        np.array([1], dtype="M8[s]"),
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        [np.zeros(1), np.zeros(2)],
        [np.zeros(2), np.zeros(1)],
        np.zeros(3),
        b"\x00",
        np.zeros(1, np.uint8),
        {"a": [0]},
        {"f": "nan"},
        {"l": []},
    ]


def test_different_trees_have_different_digests():
    marks = [digest(tree) for tree in distinct()]
    assert len(set(marks)) == len(marks)


@given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e3, 1e3)), st.data())
def test_the_smallest_change_of_an_element_changes_the_digest(array, data):
    place = data.draw(st.integers(0, len(array) - 1))
    changed = array.copy()
    changed[place] = np.nextafter(changed[place], np.inf)
    assert digest({"x": array}) != digest({"x": changed})


def test_memory_layout_is_not_part_of_the_digest():
    array = np.arange(6.0).reshape(2, 3)
    layouts = [array, np.asfortranarray(array), array.T.copy().T, np.repeat(array, 2, axis=0)[::2]]
    assert len({digest(layout) for layout in layouts}) == 1


def test_digests_are_the_same_in_every_process_and_version():
    tree = "{'w': np.arange(6, dtype='<f4').reshape(2, 3), 'n': [1, 2.5, None, (True, 'a')], 3: b'x'}"
    code = f"import numpy as np; from evolute.core.tree import digest; print(digest({tree}))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    mine = {"w": np.arange(6, dtype="<f4").reshape(2, 3), "n": [1, 2.5, None, (True, "a")], 3: b"x"}
    assert digest(mine) == other == DIGEST, "checkpoints and journals of older versions hold this digest"


DIGEST = "73d45ef998dd5e88dd0548820177c35a"

SAMPLE = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "step": 7, "name": "a", "more": [1.5, None, b"\x01\x02"]}


def test_every_truncation_is_detected():
    data = packed(SAMPLE)
    for length in range(len(data)):
        with pytest.raises(DamagedError):
            unpack(data[:length])


def test_every_flipped_bit_is_detected():
    data = packed(SAMPLE)
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(DamagedError):
            unpack(flipped)


@given(trees(), st.data())
def test_a_flipped_bit_or_a_cut_of_any_tree_is_detected(tree, data):
    whole = packed(tree)
    bit = data.draw(st.integers(0, 8 * len(whole) - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    cut = data.draw(st.integers(0, len(whole) - 1))
    for damaged in (flipped, whole[:cut], whole + b"\x00"):
        with pytest.raises(DamagedError):
            unpack(damaged)


@pytest.mark.parametrize("data", [b"", b"EVOTREE1", b"\x00" * 100, b"PK\x03\x04" * 20, b"EVOTREE1" + b"\xff" * 60])
def test_other_bytes_are_no_tree(data):
    with pytest.raises(DamagedError):
        unpack(data)


@pytest.mark.parametrize(
    ("tree", "path", "kind"),
    [
        ({"net": [1, {"w": object()}]}, "state['net'][1]['w']", "builtins.object"),
        ({"a": (1, {2})}, "state['a'][1]", "builtins.set"),
        ({3: 1j}, "state[3]", "builtins.complex"),
        ([Fraction(1, 2)], "state[0]", "fractions.Fraction"),
        (len, "state", "builtin"),
        ({"x": bytearray(b"a")}, "state['x']", "bytearray"),
        ({"x": np.array([None, 1])}, "state['x']", "object"),
        ({"x": np.zeros(2, dtype=[("a", "i4")])}, "state['x']", "('a', '<i4')"),
    ],
)
def test_a_leaf_that_cannot_be_kept_is_named_by_its_path(tree, path, kind):
    with pytest.raises(TypeError) as error:
        pack(tree)
    assert str(error.value).startswith(f"{path} is a")
    assert kind in str(error.value)


@pytest.mark.parametrize("key", [True, 1.5, None, (1, 2), np.int64(1)])
def test_a_key_that_cannot_be_kept_is_named_by_its_path(key):
    with pytest.raises(TypeError, match=r"state\['a'\] has the key .*str or int"):
        pack({"a": {key: 1}})


@pytest.mark.parametrize("tree", [{"x": {1, 2}}, object()])
def test_canonical_leaves_what_it_does_not_know_to_the_error_of_pack(tree):
    with pytest.raises(TypeError, match="a state may hold"):
        pack(canonical(tree))


def mutable(tree):
    """Every container and array of a tree."""
    if isinstance(tree, np.ndarray):
        return [tree]
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else []
    own = [tree] if isinstance(tree, (dict, list)) else []
    return [*own, *(part for child in children for part in mutable(child))]


@given(trees())
def test_the_canonical_form_shares_no_memory(tree):
    copy = canonical(tree)
    for mine in mutable(tree):
        for theirs in mutable(copy):
            assert mine is not theirs
            if isinstance(mine, np.ndarray) and isinstance(theirs, np.ndarray):
                assert not np.shares_memory(mine, theirs)


def test_canonical_arrays_are_contiguous_and_writable():
    read_only = np.arange(6).reshape(2, 3).T
    read_only.flags.writeable = False
    copy = canonical({"x": [read_only]})["x"][0]
    assert copy.flags.c_contiguous
    assert copy.flags.writeable


def test_named_tuples_come_back_as_their_class():
    tree = {"opt": Pair(np.arange(3), [Pair(1, None)])}
    back, _ = unpack(b"".join(pack(tree)))
    assert type(back["opt"]) is Pair
    assert type(back["opt"].y[0]) is Pair
    assert digest(back) == digest(tree) == digest(canonical(tree))
    assert type(canonical(tree)["opt"]) is Pair


def test_a_named_tuple_whose_class_is_not_loaded_keeps_its_values_and_its_bytes(monkeypatch):
    data = b"".join(pack({"opt": Pair(1, 2)}))
    monkeypatch.delattr(sys.modules[__name__], "Pair")
    back, _ = unpack(data)
    assert tuple(back["opt"]) == (1, 2)
    assert b"".join(pack(back)) == data
    assert b"".join(pack(canonical(back))) == data


@pytest.mark.parametrize("home", ["os:system", "builtins:tuple", "builtins:eval", "nowhere:Thing", "subprocess:Popen"])
def test_nothing_but_a_named_tuple_is_ever_made_of_a_name_in_a_file(home):
    data = b"".join(pack({"opt": Pair(1, 2)})).replace(f"{__name__}:Pair".encode(), home.encode())
    header = len(data) - 16
    body = bytearray(data[:header])
    length = len(body) - 16
    body[8:16] = length.to_bytes(8, "little")
    whole = bytes(body) + hashlib.blake2b(bytes(body), digest_size=16).digest()
    back, _ = unpack(whole)
    assert type(back["opt"]) is Record


def test_a_node_of_a_newer_version_is_damage_and_says_so():
    whole = b"".join(pack({"a": 1})[:-1]).replace(b'{"d":', b'{"q":')
    changed = whole + hashlib.blake2b(whole, digest_size=16).digest()
    with pytest.raises(DamagedError, match="unknown node 'q': written by a newer version"):
        unpack(changed)
