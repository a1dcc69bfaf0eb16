"""Whole runs with replay buffers: killed anywhere, on any engine, the same states in the end, and no segment too many."""

from __future__ import annotations

import json
import signal

import pytest
from tests.laws.killed import Killer
from tests.laws.test_law2_segments import outcome

import evolute
from evolute.report.data.details import disk
from evolute.runs.result import Run

SETTINGS = {
    "learner": "dqn", "env": "cartpole", "population": 3, "interval": 45_000, "stop": {"turns": 4}, "durable": 1,
    "keep": "last 1", "seed": 3, "strategy": "pbt", "pbt": {"quantile": 0.4}, "evaluation": {"members": 0},
    "dqn": {
        "lr": "log[1e-4, 1e-2]", "widths": [256], "batch": 16, "ratio": 0.05, "capacity": 60_000, "devices": 2,
        "inherit_buffer": "keep",
    },
}  # fmt: skip
"""Rows of 28 bytes: a turn makes one piece of a megabyte and a tail, and the second one is beyond the capacity."""


@pytest.mark.slow("killed in the middle of segments and states, a run with replay buffers ends in the same bytes")
@pytest.mark.parametrize(
    ("stacked", "points"),
    [(1, ("segment.half", "segment.named", "segment.remove", "checkpoint.half")), (3, ("segment.named",))],
)
def test_a_run_killed_at_some_write_points_ends_with_the_same_states(tmp_path, stacked, points):
    killer, settings = Killer(), {**SETTINGS, "wrap": {"frame_stack": stacked}}
    try:
        assert killer.train(tmp_path / "whole", settings) == 0
        passed = json.loads((tmp_path / "whole.points").read_text())
        expected = outcome(tmp_path / "whole")
        assert {"segment.half", "segment.named", "segment.remove"} <= set(passed)
        for name in points:
            place = len(passed) - passed[::-1].index(name)
            assert killer.train(tmp_path / name, settings, place) == -signal.SIGKILL
            assert killer.train(tmp_path / name, settings) == 0
            assert outcome(tmp_path / name) == expected, name
    finally:
        killer.close()


@pytest.mark.slow("workers in other processes send buffers to one another, and the states are the same")
@pytest.mark.parametrize("inherited", ["keep", "share"])
def test_workers_give_the_same_states_and_disk_stays_under_its_bound(tmp_path, inherited):
    settings = {**SETTINGS, "dqn": {**SETTINGS["dqn"], "inherit_buffer": inherited}}
    evolute.run(**settings, folder=tmp_path / "inline", display="none")
    evolute.run(**settings, engine="processes", workers=2, folder=tmp_path / "other", display="none")
    assert outcome(tmp_path / "other") == outcome(tmp_path / "inline")
    found = disk(Run.open(tmp_path / "inline"))
    assert found["checkpoints"] <= found["checkpoints_at_most"]
