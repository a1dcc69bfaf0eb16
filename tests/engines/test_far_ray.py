"""Actors that are Ray's: an actor that is killed, a node that is removed, and a run that leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from tests.engines.mpiexec import ROOT
from tests.engines.test_ray import ENV, TOKEN, descendants, still

pytestmark = pytest.mark.slow(reason="actors on real Ray runtimes are replaced when they or their nodes go")


@pytest.mark.timeout(900)
def test_actors_that_are_killed_and_those_of_a_node_that_is_removed_are_replaced():
    command = [sys.executable, "-m", "tests.engines.far_ray"]
    done = subprocess.run(command, cwd=ROOT, env={**ENV, **TOKEN}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all is well" in done.stdout


def test_a_run_with_actors_of_ray_ends_and_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-m", "evolute", "run", "--json", "-m", "learner=ppo", "env=gym:CartPole-v1", "ppo.pace=free"]
    command += ["actors.count=2", "actors.where=ray", "population=2", "interval=256", "steps=512", "ppo.lr=log[1e-4,1e-2]"]
    command += ["ppo.envs=4", "ppo.unroll=16", "ppo.minibatches=1", "ppo.widths=[8]", "evaluation.members=0"]
    turns, started = [], {}
    with (
        (tmp_path / "errors").open("w") as errors,
        subprocess.Popen(command, cwd=tmp_path, env=ENV, stdout=subprocess.PIPE, stderr=errors, text=True) as leader,
    ):
        for line in map(json.loads, leader.stdout):
            turns += [line] if line["event"] == "turn" else []
            started = started or (descendants(leader.pid) if turns else {})
    assert leader.returncode == 0, (tmp_path / "errors").read_text()
    assert len(turns) == 4
    assert all(turn["metrics"]["restarts"] == 0 and "lag" in turn["metrics"] for turn in turns)
    assert any("ray::" in words for words in started.values())
    deadline = time.monotonic() + 180
    while (left := still(started)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert not left
