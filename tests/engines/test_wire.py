"""Messages between processes: what comes out is what went in, and nothing is executed on the way."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from evolute.core.tree import digest
from evolute.engines.links.wire import BULK, decoded, encoded

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    arrays.arrays(st.sampled_from([np.float32, np.int64, np.bool_]), arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)),
)
TREES = st.recursive(
    LEAVES, lambda inner: st.one_of(st.lists(inner), st.tuples(inner, inner), st.dictionaries(st.text(), inner)), max_leaves=8
)


@given(TREES)
@settings(max_examples=50, deadline=None)
def test_a_tree_arrives_as_it_was(tree):
    assert digest(decoded(encoded(tree).data)) == digest(tree)


def test_large_arrays_can_travel_by_themselves():
    tree = {"small": np.arange(3), "large": np.arange(BULK, dtype=np.float32), "empty": np.empty((0, 2))}
    bulk: list = []
    message = encoded(tree, bulk)
    assert message.size < BULK
    assert np.shares_memory(bulk[0], tree["large"])
    waiting = iter(bulk)
    assert digest(decoded(message.data, lambda dtype, shape: next(waiting))) == digest(tree)


def test_arrays_can_be_used_where_they_lie():
    tree = decoded(bytearray(encoded({"a": np.arange(5), "b": np.ones((2, 3), np.float32)}).data))
    assert all(array.flags.aligned and array.flags.writeable for array in tree.values())


def test_a_pickle_is_no_message():
    with pytest.raises(ValueError, match=r".*"):
        decoded(pickle.dumps(print) * 100)


def test_damaged_messages_are_errors_and_nothing_else():
    """Whoever may send them is known; even so a damaged one makes nothing larger than itself."""
    rng, whole = random.Random(0), encoded({"a": np.arange(9.0), "b": [1, "x", None], "c": (b"raw", 2.5)}).tobytes()
    read = 0
    for _ in range(5_000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            decoded(bytes(data[: rng.choice([len(data), rng.randrange(len(data))])]))
            read += 1
        except MemoryError:
            raise
        except Exception:
            continue
    assert read > 100
