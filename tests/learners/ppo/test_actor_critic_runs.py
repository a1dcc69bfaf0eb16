"""Whole runs of IMPALA, and of members at a free pace: on any engine, killed anywhere, with members that fail."""

from __future__ import annotations

import json
import signal

import pytest
from tests.laws.killed import Killer
from tests.laws.test_law2_resume import outcome

import evolute
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable

IMPALA = {
    "learner": "impala", "env": "cartpole", "population": 3, "interval": 320, "stop": {"turns": 4}, "durable": 2, "seed": 3,
    "strategy": "pbt", "pbt": {"quantile": 0.4}, "evaluation": {"members": 0},
    "impala": {"lr": "log[1e-4, 1e-2]", "rho_bar": "[0.5, 2]", "widths": [8], "envs": 4, "unroll": 10, "devices": 2},
}  # fmt: skip
FREE = {
    **IMPALA,
    "env": "tests.envs.uneven:Uneven",
    "impala": {**IMPALA["impala"], "pace": "free"},
}
WITH_ACTORS = {**FREE, "impala": IMPALA["impala"], "actors": {"count": 2}}


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


@pytest.mark.slow("law 1: workers in other processes, with actors and without, give the same states as inline")
@pytest.mark.parametrize("settings", [IMPALA, WITH_ACTORS], ids=["impala", "actors"])
def test_every_engine_gives_the_same_states(tmp_path, settings):
    evolute.run(**{**settings, "actors": {"count": 0}}, folder=tmp_path / "inline", display="none")
    evolute.run(**settings, engine="processes", workers=2, folder=tmp_path / "other", display="none")
    assert outcome(tmp_path / "other") == outcome(tmp_path / "inline")


@pytest.mark.slow("law 2: killed at some write points, and resumed, a run ends with the same states")
@pytest.mark.parametrize("settings", [IMPALA, WITH_ACTORS], ids=["impala", "actors"])
def test_a_run_killed_at_some_write_points_ends_with_the_same_states(train, tmp_path, settings):
    assert train(tmp_path / "whole", settings) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    expected = outcome(tmp_path / "whole")
    for point in (len(passed) // 3, 2 * len(passed) // 3):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, settings, point) == -signal.SIGKILL
        assert train(folder, settings) == 0
        assert outcome(folder) == expected, passed[point - 1]


@pytest.mark.slow("law 2 at a free pace: every state is saved, so a killed run goes on from what it had")
def test_a_run_at_a_free_pace_goes_on_after_it_was_killed(train, tmp_path):
    assert train(tmp_path / "whole", FREE) == 0
    passed = json.loads((tmp_path / "whole.points").read_text())
    folder = tmp_path / "killed"
    assert train(folder, FREE, 2 * len(passed) // 3) == -signal.SIGKILL
    before = {turn.ref: turn.report.digest for member in Run.open(folder).population.members for turn in member.history()}
    assert before
    assert train(folder, FREE) == 0
    run = Run.open(folder)
    after = {turn.ref: turn.report.digest for member in run.population.members for turn in member.history()}
    assert [member.turns for member in run.population.members] == [4, 4, 4]
    kept = [ref for ref in before if before[ref] == after[ref]]
    assert len(kept) >= len(before) - 6  # at most one generation was made again


@pytest.mark.slow("law 3: members whose environment raises fail alone, and are replaced from a donor in the next turn")
def test_a_member_whose_environment_raises_is_replaced(tmp_path):
    settings = {**IMPALA, "env": "tests.envs.uneven:Raises", "impala": {**IMPALA["impala"], "pace": "rollout", "envs": 2}}
    run = evolute.run(**{**settings, "population": 4}, folder=tmp_path / "run", display="none")
    turns = [turn for member in run.population.members for turn in member.history()]
    assert any("the simulator exploded" in (turn.report.error or "") for turn in turns)
    assert any(not turn.failed for turn in turns)
    assert all(member.turns == 4 for member in run.population.members)


@pytest.mark.slow("a run in which an actor dies says so, and its journal is that of a run in which none does")
def test_an_actor_that_dies_is_told_and_leaves_no_trace_in_the_record(tmp_path, capsys):
    dies = {**WITH_ACTORS, "env": "tests.envs.uneven:DiesOnce", "DiesOnce": {"flag": str(tmp_path / "flag")}}
    run = evolute.run(**dies, folder=tmp_path / "hurt")
    assert "warning: turn 0: an actor died (exit code 7) and was replaced" in capsys.readouterr().out
    evolute.run(**dies, folder=tmp_path / "whole", display="none")
    assert outcome(tmp_path / "hurt") == outcome(tmp_path / "whole")
    told = TurnTable.read(run.folder).metric_columns
    assert told["restarts"].max() == 1
    assert (told["samples_per_second"] > 0).all()
