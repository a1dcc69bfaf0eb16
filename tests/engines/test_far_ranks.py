"""Ranks of an MPI job that act for those that train: under a real mpiexec, with too few of them, and with one that dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.engines import mpiexec
from tests.engines.test_mpi import ranks_of, wait_for_turns

PPO = ["learner=ppo", "env=gym:CartPole-v1", "ppo.pace=free", "ppo.envs=4", "ppo.unroll=16", "ppo.minibatches=1"]
PPO += ["ppo.widths=[8]", "ppo.lr=log[1e-4,1e-2]", "population=2", "interval=256", "evaluation.members=0", "name=far"]
RANKS = ["engine=mpi", "actors.where=ranks"]


def turns(output: str) -> list[dict]:
    return [line for line in map(json.loads, output.splitlines()) if line["event"] == "turn"]


@pytest.mark.slow("real ranks: two train and exchange states by collective calls, and one acts for each of them")
def test_ranks_act_for_those_that_train(tmp_path):
    words = ["run", "--json", "-m", *PPO, *RANKS, "actors.count=1", "mpi.exchange=collective", "steps=768"]
    done = mpiexec.evolute(4, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = turns(done.stdout)
    assert len(found) == 6
    for turn in found:
        assert turn["metrics"]["lag_max"] <= 8
        assert turn["metrics"]["episodes"] > 0
        assert turn["metrics"]["restarts"] == 0


def test_too_few_ranks_are_told_in_a_sentence(tmp_path):
    done = mpiexec.evolute(2, "run", "-m", *PPO, *RANKS, "actors.count=2", "steps=256", cwd=tmp_path)
    assert done.returncode != 0
    said = "actors.count = 2 with actors.where=ranks takes 3 ranks or more, one to train and 2 to act, and there are 2"
    assert done.stderr.count(said) == 1
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow("a rank that acts is killed: MPI ends the job, and the same command resumes the run, here without such ranks")
def test_a_rank_that_dies_while_it_acts_ends_the_job_which_can_be_resumed(tmp_path):
    command = ["-m", "evolute", "run", "-m", *PPO, "steps=2048"]
    os.environ["EVOLUTE_TEST"] = str(tmp_path)
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    job = mpiexec.mpiexec(2, *command, *RANKS, "actors.count=1", cwd=tmp_path, **piped)
    del os.environ["EVOLUTE_TEST"]
    job.mark = tmp_path
    pids = ranks_of(job, 2)
    wait_for_turns(tmp_path / "runs" / "far-1", 4)
    os.kill(pids[1], signal.SIGKILL)
    job.communicate(timeout=60)
    assert job.returncode != 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    again = mpiexec.evolute(1, *command[2:], "actors.count=0", "engine=inline", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "resuming runs/far-1" in again.stdout


SCRIPT = """
import evolute
from tests.engines.workers import noisy
far = {"env": "gym:CartPole-v1", "ppo": {"pace": "free", "envs": 4, "unroll": 16, "minibatches": 1, "widths": [8]}}
for name in ("one", "two"):
    run = evolute.run("ppo", **far, actors={"count": 1, "where": "ranks"}, population=2, interval=128, stop={"steps": 256},
                      evaluation={"members": 0}, engine="mpi", folder=name, display="none")
    assert run.population.latest[0].report.metrics["lag"] >= 0
run = evolute.run(noisy, space={"lr": evolute.Float(1e-3, 0.5, log=True)}, population=4, stop={"turns": 3}, folder="three",
                  engine="mpi", display="none")
print("all is well")
"""


@pytest.mark.slow("a script with three runs: ranks that acted act again, and train when nobody acts")
def test_ranks_that_acted_act_again_and_train(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    job = mpiexec.mpiexec(2, "script.py", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = job.communicate(timeout=200)
    assert job.returncode == 0, errors
    assert out.count("all is well") == 2
