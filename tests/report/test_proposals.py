"""What `show` tells of why heirs got their hyper-parameters."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import evolute
from evolute.report.data.proposals import proposal_lines


@pytest.fixture(scope="module", params=["pb2_mix", "bg_pbt"])
def run(request, tmp_path_factory):
    """A strategy, and the folder of a short run with it."""
    folder = tmp_path_factory.mktemp(request.param) / "run"
    evolute.run(preset="drift_mixed", strategy=request.param, stop={"turns": 6}, folder=folder, display="none")
    return request.param, folder


def shown(folder, *arguments):
    command = [sys.executable, "-m", "evolute", "show", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_show_tells_the_predicted_gain_and_what_is_behind_it(run):
    strategy, folder = run
    text = shown(folder)
    assert "predicted gain of the turn ± uncertainty → what came of it" in text
    assert "model behind the last: rows=" in text
    assert ("trust region: side 0.4" in text) == (strategy == "bg_pbt")
    assert ("bandit's weights for c: 0=0." in text) == (strategy == "pb2_mix")


def test_every_proposal_is_in_the_json(run):
    _, folder = run
    told = json.loads(shown(folder, "--json"))["proposals"]
    inherited = [
        turn for member in evolute.load(folder).population.members for turn in member.history() if "gain" in turn.order.why
    ]
    assert len(told) == len(inherited) > 1
    for one in told:
        assert {"gain", "uncertainty", "model"} <= one["why"].keys()
        turn = next(turn for turn in inherited if turn.ref == (one["member"], one["turn"]))
        assert one["came"] == turn.score - turn.parent.score
        assert one["hparams"] == turn.order.hparams


def test_a_run_without_a_model_tells_of_none(tmp_path):
    evolute.run(preset="toy", stop={"turns": 3}, folder=tmp_path / "run", display="none")
    assert "proposal" not in shown(tmp_path / "run")
    assert json.loads(shown(tmp_path / "run", "--json"))["proposals"] == []


@pytest.mark.parametrize("key", ["restarted", "anew"])
def test_a_restart_of_the_trust_region_is_shown_for_older_runs_too(key):
    region = {"side": 0.4, "radius": 1.0, "restarts": 2, key: True}
    why = {"gain": 1.0, "uncertainty": 0.5, "model": {"rows": 3}, "region": region}
    proposal = {"member": 0, "turn": 3, "parent": 1, "hparams": {"x": 0.5}, "why": why, "running": True, "came": None}
    assert "restarted 2 times, just now" in "\n".join(proposal_lines([proposal]))
