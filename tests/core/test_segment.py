from __future__ import annotations

import gc

import numpy as np
import pytest

from evolute.core.segment import Segment, all_held, held
from evolute.core.tree import DamagedError, canonical, digest, pack, unpack
from evolute.engines.links.wire import completed, decoded, encoded, without


def tree(*contents: float):
    return {"pieces": tuple(Segment.of(np.full(100, value)) for value in contents), "tail": np.arange(3)}


def test_equal_segments_are_one_object_for_as_long_as_somebody_holds_them():
    one = Segment.of(np.arange(4.0))
    assert Segment.of(np.arange(4.0)) is one
    assert Segment.of(np.arange(4, dtype=np.float32)) != one
    assert Segment.of(np.arange(4.0).reshape(2, 2)) != one
    assert held(one.digest) is one
    assert one in all_held()
    known = one.digest
    del one
    gc.collect()
    assert held(known) is None


def test_a_segment_cannot_be_written_to():
    with pytest.raises(ValueError, match="read-only"):
        Segment.of(np.arange(4.0)).array[0] = 1


def test_only_numbers_can_be_segments():
    with pytest.raises(TypeError, match="plain numbers"):
        Segment.of(np.array(["text"]))


@pytest.mark.parametrize("apart", [False, True])
def test_a_tree_with_segments_comes_back_as_it_was(apart):
    packed = tree(1, 2, 1)
    segments = [] if apart else None
    data = b"".join(pack(packed, segments))
    if apart:
        assert [one.digest for one in segments] == [one.digest for one in packed["pieces"][:2]]
        assert len(data) < 800
    back, mark = unpack(data, (lambda spec: held(spec.digest)) if apart else None)
    assert back["pieces"] == packed["pieces"]
    assert mark == digest(packed) == digest(back)
    assert canonical(packed)["pieces"] == packed["pieces"]


def test_a_digest_covers_what_segments_hold_and_in_which_order():
    assert len({digest(tree(1, 2)), digest(tree(2, 1)), digest(tree(1, 3)), digest(tree(1))}) == 4


def test_a_flipped_bit_in_a_segment_among_the_bytes_is_noticed():
    data = bytearray(b"".join(pack(tree(5))))
    data[-100] ^= 1
    with pytest.raises(DamagedError):
        unpack(data)


def test_a_digest_does_not_read_the_segments_again(monkeypatch):
    whole = tree(1, 2, 3)
    monkeypatch.setattr("evolute.core.segment.digest_of", None)
    assert digest(whole)


@pytest.mark.parametrize("bulky", [False, True])
def test_segments_travel_by_the_wire(bulky):
    sent = {"pieces": (Segment.of(np.arange(20_000.0)), Segment.of(np.arange(5))), "other": np.arange(9_000.0)}
    bulk = [] if bulky else None
    message = encoded(sent, bulk)
    arrays = iter(bulk or ())
    back = decoded(message.data, (lambda dtype, shape: next(arrays)) if bulky else None)
    assert back["pieces"] == sent["pieces"]
    assert (back["other"] == sent["other"]).all()


def test_a_message_leaves_out_what_its_receiver_has():
    sent = tree(7, 8)
    thin = without(sent, [sent["pieces"][0].digest])
    message = encoded(thin)
    assert len(message) < len(encoded(sent)) - 700
    assert completed(decoded(message.data))["pieces"] == sent["pieces"]


def test_a_segment_that_is_nowhere_is_an_error():
    sent = tree(9)
    message = encoded(without(sent, [sent["pieces"][0].digest]))
    del sent
    gc.collect()
    with pytest.raises(ConnectionError, match="left out"):
        completed(decoded(message.data))
