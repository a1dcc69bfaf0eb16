"""Law 5: nothing half-written is ever read; files appear whole, under their final name, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from evolute.core.order import Ref
from evolute.core.protocols import LostError
from evolute.core.tree import digest
from evolute.runs import folders
from evolute.store import points
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta


class Killed(BaseException):
    """Stands for SIGKILL: nothing catches it."""


@pytest.fixture
def die_at(monkeypatch):
    def arm(name: str) -> None:
        def hook(passed: str) -> None:
            if passed == name:
                raise Killed(name)

        monkeypatch.setattr(points, "hooks", [hook])

    return arm


@pytest.mark.parametrize("point", ["checkpoint.begin", "checkpoint.half", "checkpoint.written"])
def test_a_checkpoint_that_was_not_finished_does_not_exist(tmp_path, die_at, point):
    checkpoints, ref = Checkpoints(tmp_path), Ref(3, 14)
    die_at(point)
    with pytest.raises(Killed):
        checkpoints.write(ref, {"w": np.arange(1000.0)})
    assert checkpoints.refs() == set()
    with pytest.raises(LostError):
        checkpoints.read(ref)
    checkpoints.sweep()
    assert list(tmp_path.iterdir()) == []


def test_overwriting_a_checkpoint_leaves_the_old_one_until_the_new_one_is_whole(tmp_path, die_at):
    checkpoints, ref = Checkpoints(tmp_path), Ref(0, 0)
    checkpoints.write(ref, {"w": 1})
    die_at("checkpoint.half")
    with pytest.raises(Killed):
        checkpoints.write(ref, {"w": 2})
    assert checkpoints.read(ref) == {"w": 1}
    assert checkpoints.verify(ref, digest({"w": 1})) is None
    assert "another state" in checkpoints.verify(ref, digest({"w": 2}))


@pytest.mark.parametrize("point", ["folder.begin", "journal.create.filled", "folder.filled"])
def test_a_run_folder_that_was_not_finished_is_no_run(tmp_path, die_at, point):
    die_at(point)
    with pytest.raises(Killed):
        folders.create(None, tmp_path, "toy", RunMeta(identity={"a": 1}))
    assert folders.runs(tmp_path) == []
    assert folders.unfinished(tmp_path, lambda meta: True) is None


def test_a_transaction_that_was_not_finished_leaves_nothing(tmp_path, die_at):
    journal = Journal.create(tmp_path, RunMeta())
    die_at("journal.note.filled")
    with pytest.raises(Killed):
        journal.note("half")
    assert journal.notes() == []
