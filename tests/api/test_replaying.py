"""Replaying a line of descent: with the same seeds it ends in the same bits, with others it is a fresh agent."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.cli.replay import replay as replay_command
from evolute.cli.schedule import schedule
from evolute.config.error import ConfigError
from evolute.runs.replay import _check_alone, replay
from evolute.runs.result import Run
from evolute.runs.session import Launch

NOISE = 0.3


def noisy(state, hparams, steps, seed):
    rng = np.random.default_rng(seed)
    weights = np.zeros(3) if state is None else state["weights"]
    for _ in range(steps):
        weights = weights + hparams["lr"] * (1 - weights + rng.normal(0, NOISE, 3))
    return {"weights": weights}, {"score": -float(((1 - weights) ** 2).sum())}


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    space = {"lr": evolute.Float(1e-3, 1, log=True)}
    settings = {"population": 6, "interval": 5, "stop": {"turns": 12}, "display": "none", "seed": 3}
    return evolute.run(
        "tests.api.test_replaying:noisy", space=space, folder=tmp_path_factory.mktemp("runs") / "old", **settings
    )


def test_an_exact_replay_ends_in_the_same_bits(old, tmp_path):
    assert len({turn.ref.member for turn in old.best.lineage}) > 1, "the line should change members"
    found = replay(old.best, Launch(folder=tmp_path / "new"), exact=True, seed=None)
    assert found.same == len(found.line) == 12
    new = found.run.member(0)
    assert new.turn.report.digest == old.best.turn.report.digest
    assert new.state["weights"].tobytes() == old.best.state["weights"].tobytes()
    assert [turn.order.hparams for turn in new.lineage] == old.best.schedule


def test_a_replay_of_another_member_with_its_own_luck(old, tmp_path):
    found = replay(old.member(2), Launch(folder=tmp_path / "new"), exact=False, seed=None)
    assert found.same is None
    assert found.run.member(0).schedule == old.member(2).schedule
    assert found.run.member(0).turn.report.digest != old.member(2).turn.report.digest


def test_a_replay_tells_whether_it_came_out_the_same(old, tmp_path, capsys, monkeypatch):
    replay_command(old.folder, None, exact=True, seed=None, target=tmp_path / "same", overrides=[])
    assert "bit-identical: all 12 states" in capsys.readouterr().out
    monkeypatch.setattr("tests.api.test_replaying.NOISE", 0.31)
    with pytest.raises(SystemExit):
        replay_command(old.folder, None, exact=True, seed=None, target=tmp_path / "new", overrides=[])
    assert "turn 0 of the lineage ended in another state" in capsys.readouterr().err


def test_lines_that_used_other_members_states_cannot_be_replayed_exactly(old):
    from dataclasses import replace

    turn = old.best.turn
    with pytest.raises(ConfigError, match="also used member 1 after turn 3"):
        _check_alone([replace(turn, order=replace(turn.order, own=evolute.core.order.Ref(1, 3)))])


def test_an_exported_schedule_trains_a_fresh_agent(old, tmp_path):
    schedule(old.folder, None, tmp_path / "schedule.yaml", None)
    config = tmp_path / "base.yaml"
    config.write_text("learner: tests.api.test_replaying:noisy\ninterval: 5\nnoisy:\n  lr: log[1e-3, 1]\n")
    new = evolute.run(config=[config, tmp_path / "schedule.yaml"], folder=tmp_path / "new", display="none", seed=9)
    assert Run.open(new.folder).member(0).schedule == old.best.schedule
