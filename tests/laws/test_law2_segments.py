"""Laws 1 and 2 for states with segments: killed anywhere, on any engine, nothing is lost and nothing is left over."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest
from tests.laws.killed import Killer

import evolute
from evolute.core.durability import reachable
from evolute.runs.result import Run
from evolute.store.checkpoints import Checkpoints
from evolute.store.journal import Journal

SETTINGS = {
    "learner": "buffered:train", "space": {"h": "float[0, 1]"}, "population": 3, "interval": 1, "stop": {"turns": 6},
    "durable": 2, "keep": "last 1", "seed": 3, "strategy": "pbt", "pbt": {"quantile": 0.4},
}  # fmt: skip


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


@pytest.fixture(autouse=True)
def found(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    yield
    sys.modules.pop("buffered", None)


def outcome(folder: Path) -> tuple[str, dict[str, bytes], set[str]]:
    """The canonical dump, the bytes of every final state, and the names of all segments."""
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    checkpoints = Checkpoints(folder / "checkpoints")
    refs = reachable(Run.open(folder).population)
    states = {str(ref): checkpoints.path(ref).read_bytes() for ref in sorted(refs)}
    return dump, states, {path.name for path in checkpoints.segments.iterdir()}


def test_a_run_killed_at_any_write_point_ends_with_the_same_states_and_no_other_segment(train, tmp_path):
    assert train(tmp_path / "whole", SETTINGS) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    assert {f"segment.{name}" for name in ("begin", "half", "written", "named", "remove")} <= set(passed)
    assert passed.count("segment.named") < passed.count("checkpoint.named") * 5
    expected = outcome(tmp_path / "whole")
    places = {name: [place for place, other in enumerate(passed, start=1) if other == name] for name in set(passed)}
    chosen = {found[where] for found in places.values() for where in (0, len(found) // 2, -1)}
    for place in sorted(chosen):
        folder = tmp_path / f"killed-{place}"
        assert train(folder, SETTINGS, place) == -signal.SIGKILL
        assert train(folder, SETTINGS) == 0
        assert outcome(folder) == expected, passed[place - 1]


def test_a_flipped_byte_in_a_segment_is_noticed_and_made_again(train, tmp_path):
    assert train(tmp_path / "whole", SETTINGS) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    last = len(passed) - passed[::-1].index("checkpoint.remove")
    hurt = tmp_path / "hurt"
    assert train(hurt, SETTINGS, last) == -signal.SIGKILL
    for path in (hurt / "checkpoints" / "segments").iterdir():
        data = bytearray(path.read_bytes())
        data[len(data) // 3] ^= 8
        path.write_bytes(data)
    assert train(hurt, SETTINGS) == 0
    assert outcome(hurt) == outcome(tmp_path / "whole")


@pytest.mark.parametrize("engine", [{"engine": "processes", "workers": 2}, {"limit": 60}], ids=["processes", "limit"])
def test_workers_give_the_same_states(tmp_path, engine):
    evolute.run(**SETTINGS, folder=tmp_path / "inline", display="none")
    evolute.run(**SETTINGS, **engine, folder=tmp_path / "other", display="none")
    assert outcome(tmp_path / "other") == outcome(tmp_path / "inline")


def test_a_fork_has_its_runs_segments(tmp_path):
    evolute.run(**SETTINGS, folder=tmp_path / "run", display="none")
    forked = {**SETTINGS, "stop": {"turns": 8}, "init": {"from": str(tmp_path / "run"), "turn": 4}}
    evolute.run(**forked, folder=tmp_path / "fork", display="none")
    whole = evolute.run(**{**SETTINGS, "stop": {"turns": 8}}, folder=tmp_path / "longer", display="none")
    assert Run.open(tmp_path / "fork").best.score == whole.best.score
