"""Law 2: kill it anywhere, run the same command again, and it ends as if nothing had happened."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.laws.killed import Killer

from evolute.core.durability import reachable
from evolute.runs.result import Run
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal

SYNC = {"preset": "toy", "population": 4, "stop": {"turns": 4}, "durable": 2, "seed": 3}
ASYNC = {**SYNC, "mode": "async", "engine": "simulated", "simulated": {"durations": [1, 2, 3, 5]}}


@pytest.fixture(scope="module")
def train():
    """Trains in a process of its own, and returns its exit code."""
    killer = Killer()
    yield killer.train
    killer.close()


def outcome(folder: Path) -> tuple[str, dict[str, bytes]]:
    """The canonical dump and the bytes of every final state."""
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    checkpoints = Checkpoints(folder / "checkpoints")
    refs = reachable(Run.open(folder).population)
    return dump, {str(ref): checkpoints.path(ref).read_bytes() for ref in sorted(refs)}


def killed_everywhere(train, tmp_path: Path, settings: dict) -> list[tuple[int, Path]]:
    """A folder for each write point, in which a run was killed at that point and then run again."""
    assert train(tmp_path / "whole", settings) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())

    def one(point: int) -> tuple[int, Path]:
        folder = tmp_path / f"killed-{point}"
        assert train(folder, settings, point) == -signal.SIGKILL
        assert train(folder, settings) == 0
        return point, folder

    return [one(point) for point in range(1, len(passed) + 1)]


def test_a_run_killed_at_any_write_point_ends_like_one_that_was_not(train, tmp_path):
    folders = killed_everywhere(train, tmp_path, SYNC)
    expected = outcome(tmp_path / "whole")
    assert len(folders) > 60
    assert [point for point, folder in folders if outcome(folder) != expected] == []


def test_every_write_is_among_the_points(train, tmp_path):
    assert train(tmp_path / "whole", SYNC) == 0
    passed = set(json.loads((tmp_path / "whole.points").read_text()))
    for write in ("decide", "record", "create", "meta"):
        assert {f"journal.{write}.begin", f"journal.{write}.filled", f"journal.{write}.done"} <= passed
    assert {"checkpoint.begin", "checkpoint.half", "checkpoint.written", "checkpoint.named", "checkpoint.remove"} <= passed
    assert {"folder.begin", "folder.filled", "folder.named"} <= passed


def test_an_async_run_honours_every_decision_that_was_journalled(train, tmp_path):
    assert train(tmp_path / "whole", ASYNC) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    for point in range(12, len(passed), 17):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, ASYNC, point) == -signal.SIGKILL
        if not folder.exists():
            continue
        before = decided(folder)
        assert train(folder, ASYNC) == 0
        assert decided(folder)[: len(before)] == before
        assert all(member.turns == 4 for member in Run.open(folder).population.members)


def decided(folder: Path) -> list[dict]:
    journal = Journal.read(folder)
    orders = [[order.ref, order.to_json()] for decision in journal.decisions() for order in decision.orders]
    journal.close()
    return orders


def _killed_late(train, tmp_path):
    """A run that was killed late. A quiet machine journals several turns at once, so it may have fewer write points."""
    count = len(json.loads((tmp_path / "whole.points").read_text()))
    for attempt, point in enumerate((count - 3, count // 2, count // 3)):
        hurt = tmp_path / f"hurt{attempt}"
        if train(hurt, SYNC, point) == -signal.SIGKILL:
            return hurt
    raise AssertionError(f"no run was killed at one of {count} write points")


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty"])
def test_a_damaged_checkpoint_is_noticed_and_the_run_ends_as_if_it_were_whole(train, tmp_path, damage):
    assert train(tmp_path / "whole", SYNC) == 0
    hurt = _killed_late(train, tmp_path)
    states = sorted((hurt / "checkpoints").glob("*.state"), key=lambda path: path.name[6:])
    for path in states[-2:]:
        data = bytearray(path.read_bytes())
        if damage == "flip":
            data[len(data) // 2] ^= 4
        path.write_bytes({"truncate": data[:-7], "flip": data, "empty": b""}[damage])
    assert train(hurt, SYNC) == 0
    assert outcome(hurt) == outcome(tmp_path / "whole")
    notes = [body["text"] for _, kind, body in Run.open(hurt).notes if kind == "restore"]
    assert any("damaged" in text and "going back to the last good one" in text for text in notes)
