"""Whole runs with Stable-Baselines3: by the command line, in processes, under mpiexec."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from tests.engines.mpiexec import MPIEXEC
from tests.engines.mpiexec import evolute as on_ranks

import evolute

pytest.importorskip("stable_baselines3")

SMALL = ["population=4", "interval=32", "stop.turns=2", "sb3.n_steps=16", "sb3.batch_size=16", "sb3.n_epochs=1"]


def command(*words, cwd):
    """Run the program to its end."""
    done = subprocess.run([sys.executable, "-m", "evolute", *words], cwd=cwd, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow(reason="PyTorch in several processes, and the zip loaded by Stable-Baselines3")
def test_the_command_line_trains_in_processes_and_exports_a_zip(tmp_path):
    from stable_baselines3 import SAC

    settings = ["learner=sb3:SAC", "env=Pendulum-v1", "sb3.learning_rate=log[1e-5,1e-2]", "sb3.learning_starts=10"]
    small = ["population=2", "interval=32", "stop.turns=2", "sb3.batch_size=8", "sb3.buffer_size=100", "sb3.net_arch=[8]"]
    command("run", "-m", *settings, *small, "engine=processes", "workers=2", "wrap.time_limit=20", "name=sac", cwd=tmp_path)
    printed = command("export", "runs/sac-1", cwd=tmp_path)
    assert "policy.zip" in printed
    model = SAC.load(tmp_path / "policy.zip", device="cpu")
    assert model.predict(model.observation_space.sample())[0].shape == (1,)
    played = json.loads(command("play", "runs/sac-1", "--episodes", "2", "--json", cwd=tmp_path))
    assert played["episodes"] == 2


@pytest.mark.slow(reason="the published example on real ranks")
def test_the_published_example_runs_under_mpiexec_and_gives_what_one_process_gives(tmp_path):
    pytest.importorskip("mpi4py")
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec")
    settings = ["learner=sb3:PPO", "env=CartPole-v1", "strategy=winner_takes_all", "sb3.learning_rate=log[1e-4,1e-2]", *SMALL]
    done = on_ranks(4, "run", "--folder", "mpi", "-m", "engine=mpi", *settings, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    command("run", "--folder", "inline", "-m", "engine=inline", *settings, cwd=tmp_path)
    runs = [evolute.load(tmp_path / name) for name in ("mpi", "inline")]
    digests = [[turn.report.digest for slot in range(4) for turn in run.population[slot].history()] for run in runs]
    assert digests[0] == digests[1]
    assert all(digests[0])
