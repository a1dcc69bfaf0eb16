"""Law 2 for a run that is steered: killed at any write point, it ends with the same journal, requests included."""

from __future__ import annotations

import contextlib
import json
import signal

import pytest
from tests.laws.killed import Killer

from evolute.store.journal import Journal

REQUESTS = [
    {"kind": "pin", "member": 1, "turn": 1},
    {"kind": "bounds", "bounds": {"h0": {"kind": "float", "low": 0.1, "high": 0.6}}, "turn": 2},
    {"kind": "set", "member": 2, "hparams": {"h1": 0.25}, "turn": 2},
    {"kind": "clone", "member": 1, "donor": 0, "turn": 2},
    {"kind": "clone", "member": 3, "donor": 1, "turn": 3},
    {"kind": "unpin", "member": 1, "turn": 4},
    {"kind": "nonsense"},
]
SETTINGS = {
    "preset": "toy", "population": 4, "stop": {"turns": 6}, "durable": 2, "seed": 3, "pbt": {"resample": 0.25},
    "requests": REQUESTS,
}  # fmt: skip
ASYNC = {**SETTINGS, "mode": "async", "engine": "simulated", "simulated": {"durations": [1, 2, 3, 5]}}
ALL = pytest.param("", marks=pytest.mark.slow(reason="every write point of a steered run"))


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


def canonical(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


@pytest.mark.parametrize("where", ["journal.decide.filled", "journal.decide.done", ALL])
def test_a_steered_run_killed_at_any_write_point_ends_with_the_same_journal(train, tmp_path, where):
    assert train(tmp_path / "whole", SETTINGS) == 0
    expected = canonical(tmp_path / "whole")
    assert expected.count('["request"') == len(REQUESTS)
    assert expected.count("refused") == 0
    assert '"member 1 is pinned: unpin it first"' in expected
    assert '"event":"bounds"' in expected
    passed = json.loads((tmp_path / "whole.points").read_text())
    for point in [number for number, name in enumerate(passed, start=1) if name.startswith(where)]:
        folder = tmp_path / f"killed-{point}"
        assert train(folder, SETTINGS, point) == -signal.SIGKILL
        assert train(folder, SETTINGS) == 0
        assert canonical(folder) == expected, passed[point - 1]


def test_an_async_run_honours_what_was_granted(train, tmp_path):
    assert train(tmp_path / "whole", ASYNC) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    for point in range(12, len(passed), 23):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, ASYNC, point) == -signal.SIGKILL
        with contextlib.closing(Journal.read(folder)) as journal:
            before = journal.answers()
        assert train(folder, ASYNC) == 0
        with contextlib.closing(Journal.read(folder)) as journal:
            after = journal.answers()
        assert after[: len(before)] == before
        assert len(after) == len(REQUESTS)
