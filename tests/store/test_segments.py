"""Segments on disk: written once, whole, and kept for as long as a state names them."""

from __future__ import annotations

import numpy as np
import pytest

from evolute.core.order import Ref
from evolute.core.protocols import LostError
from evolute.core.segment import Segment
from evolute.core.tree import digest
from evolute.store import points
from evolute.store.checkpoints import Checkpoints


def state(*contents: float):
    return {"pieces": [Segment.of(np.full(64, value)) for value in contents]}


def files(checkpoints: Checkpoints) -> set[str]:
    return {path.name for path in checkpoints.segments.iterdir()}


def names(*contents: float) -> set[str]:
    return {one.digest for one in state(*contents)["pieces"]}


@pytest.fixture
def passed(monkeypatch):
    """The write points that were passed."""
    seen: list[str] = []
    monkeypatch.setattr(points, "hooks", [seen.append])
    return seen


def test_a_segment_is_written_once(tmp_path, passed):
    checkpoints = Checkpoints(tmp_path)
    first = checkpoints.write(Ref(0, 1), state(1, 2))
    assert passed.count("segment.named") == 2
    assert first > 2 * 64 * 8
    checkpoints.write(Ref(0, 2), state(1, 2, 3))
    checkpoints.write(Ref(1, 2), state(1, 2, 3))
    assert passed.count("segment.named") == 3
    assert Checkpoints(tmp_path).read(Ref(1, 2)) == state(1, 2, 3)


def test_a_segment_goes_with_the_last_state_that_names_it(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(Ref(0, 1), state(1, 2))
    checkpoints.write(Ref(0, 2), state(2, 3))
    assert files(checkpoints) == names(1, 2, 3)
    checkpoints.remove([Ref(0, 1)])
    assert files(checkpoints) == names(2, 3)
    assert checkpoints.verify(Ref(0, 2), digest(state(2, 3))) is None
    checkpoints.remove([Ref(0, 2)])
    assert files(checkpoints) == set()


def test_sweeping_removes_segments_that_no_state_names_and_drafts(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(Ref(0, 1), state(1))
    checkpoints.write(Ref(0, 2), state(2))
    checkpoints.path(Ref(0, 2)).unlink()
    (checkpoints.segments / "abc.1.tmp").write_bytes(b"half")
    checkpoints.sweep()
    assert files(checkpoints) == names(1)


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "remove"])
def test_a_damaged_segment_makes_its_states_lost_and_is_written_again(tmp_path, damage):
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(Ref(0, 1), state(1, 2))
    checkpoints.write(Ref(0, 2), state(2))
    (name,) = names(1)
    path = checkpoints.segments / name
    data = bytearray(path.read_bytes())
    data[100] ^= 2
    if damage == "remove":
        path.unlink()
    else:
        path.write_bytes({"flip": data, "truncate": data[:-3], "empty": b""}[damage])
    fresh = Checkpoints(tmp_path)
    assert fresh.verify(Ref(0, 1), None) is not None
    with pytest.raises(LostError):
        fresh.read(Ref(0, 1))
    assert fresh.verify(Ref(0, 2), digest(state(2))) is None
    fresh.write(Ref(0, 1), state(1, 2))
    assert Checkpoints(tmp_path).verify(Ref(0, 1), digest(state(1, 2))) is None


def test_damage_shows_even_if_the_segment_is_in_memory(tmp_path):
    held = state(1)
    Checkpoints(tmp_path).write(Ref(0, 1), held)
    path = tmp_path / "segments" / held["pieces"][0].digest
    path.write_bytes(b"x" * path.stat().st_size)
    assert "segment" in Checkpoints(tmp_path).verify(Ref(0, 1), None)


@pytest.mark.parametrize("point", ["segment.begin", "segment.half", "segment.written", "segment.named", "checkpoint.half"])
def test_a_state_that_was_not_finished_does_not_exist_and_leaves_nothing(tmp_path, monkeypatch, point):
    class KilledHere(BaseException):
        pass

    def die(name: str) -> None:
        if name == point:
            raise KilledHere

    checkpoints = Checkpoints(tmp_path)
    monkeypatch.setattr(points, "hooks", [die])
    with pytest.raises(KilledHere):
        checkpoints.write(Ref(0, 1), state(1))
    assert checkpoints.refs() == set()
    Checkpoints(tmp_path).sweep()
    assert files(checkpoints) == set()


def test_states_are_linked_into_another_folder_with_their_segments(tmp_path):
    source, target = Checkpoints(tmp_path / "a"), Checkpoints(tmp_path / "b")
    for folder in (source, target):
        folder.sweep()
    source.write(Ref(0, 1), state(1, 2))
    source.link(Ref(0, 1), target)
    source.link(Ref(0, 7), target)
    assert target.refs() == {Ref(0, 1)}
    assert target.verify(Ref(0, 1), digest(state(1, 2))) is None
    (name, *_) = names(1)
    assert (source.segments / name).stat().st_ino == (target.segments / name).stat().st_ino
    source.remove([Ref(0, 1)])
    assert target.read(Ref(0, 1)) == state(1, 2)
