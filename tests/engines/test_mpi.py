"""Training on the ranks of an MPI job, under a real mpiexec: what is sent, what happens when a rank dies, and signals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.engines import mpiexec
from tests.engines.workers import outcome, reported

RUN = ["run", "-m", "learner=tests.engines.workers:noisy", "noisy.lr=log[1e-3,0.5]", "population=6", "durable=2", "name=walk"]


def train(cwd: Path, ranks: int, *more: str) -> subprocess.CompletedProcess:
    return mpiexec.evolute(ranks, *RUN, "engine=mpi", *more, cwd=cwd)


def alone(cwd: Path, *more: str) -> None:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(mpiexec.ROOT), os.environ.get("PYTHONPATH", "")])}
    subprocess.run([sys.executable, "-m", "evolute", *RUN, *more], cwd=cwd, env=env, check=True, capture_output=True)


def ranks_of(process: subprocess.Popen, count: int) -> list[int]:
    """The processes of a job's ranks, rank 0 first."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and b"evolute" in (entry / "cmdline").read_bytes().split(b"\0"):
                    words = dict(word.partition(b"=")[::2] for word in (entry / "environ").read_bytes().split(b"\0"))
                    rank = words.get(b"PMI_RANK", words.get(b"OMPI_COMM_WORLD_RANK"))
                    if rank is not None and words.get(b"EVOLUTE_TEST") == str(process.mark).encode():
                        found[int(rank)] = int(entry.name)
            except OSError:
                continue
        if len(found) == count:
            return [found[rank] for rank in range(count)]
        time.sleep(0.05)
    raise AssertionError(f"{len(found)} ranks instead of {count}")


def started(cwd: Path, ranks: int, *more: str) -> subprocess.Popen:
    os.environ["EVOLUTE_TEST"] = str(cwd)
    process = mpiexec.mpiexec(
        ranks, "-m", "evolute", *RUN, "engine=mpi", *more, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    del os.environ["EVOLUTE_TEST"]
    process.mark = cwd
    return process


def wait_for_turns(folder: Path, turns: int) -> None:
    deadline = time.monotonic() + 60
    while not folder.exists() or reported(folder) < turns:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("victim", [0, pytest.param(1, marks=pytest.mark.slow(reason="the same for another rank"))])
def test_a_rank_that_dies_ends_the_job_and_the_same_command_resumes_it_on_other_ranks(tmp_path, victim):
    alone(tmp_path, "stop.turns=12", "runs=whole")
    slow = ["stop.turns=12", "noisy.sleep=0.05"]
    job = started(tmp_path, 3, *slow)
    pids = ranks_of(job, 3)
    wait_for_turns(tmp_path / "runs" / "walk-1", 20)
    os.kill(pids[victim], signal.SIGKILL)
    job.communicate(timeout=30)
    assert job.returncode != 0
    again = train(tmp_path, 2, *slow)
    assert again.returncode == 0, again.stderr
    assert "resuming runs/walk-1" in again.stdout
    assert outcome(tmp_path / "runs" / "walk-1") == outcome(tmp_path / "whole" / "walk-1")


def test_a_rank_that_is_silent_for_longer_than_its_lease_ends_the_job_with_a_code_that_means_resume(tmp_path):
    job = started(tmp_path, 2, "stop.turns=1000", "noisy.sleep=0.05", "mpi.lease=2")
    pids = ranks_of(job, 2)
    wait_for_turns(tmp_path / "runs" / "walk-1", 6)
    os.kill(pids[1], signal.SIGSTOP)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 75
    assert "rank 1 was silent for more than 2 s: run the same command again" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_leader_saves_what_has_finished_and_ends_all_ranks(tmp_path, number):
    job = started(tmp_path, 2, "stop.turns=1000", "noisy.sleep=0.05")
    pids = ranks_of(job, 2)
    wait_for_turns(tmp_path / "runs" / "walk-1", 6)
    os.kill(pids[1], number)  # signals go to all ranks; only the leader acts on them
    time.sleep(0.5)
    os.kill(pids[0], number)
    _, errors = job.communicate(timeout=30)
    assert "evolute resume runs/walk-1" in errors
    assert "Traceback" not in errors
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


@pytest.mark.slow(reason="starts ranks four times")
def test_a_finished_run_and_a_refused_config_end_all_ranks(tmp_path):
    assert train(tmp_path, 2, "stop.turns=2", "--folder", "run").returncode == 0
    again = train(tmp_path, 2, "stop.turns=2", "--folder", "run")
    assert again.returncode == 0, again.stderr
    refused = train(tmp_path, 2, "stop.turns=2", "mpi.exchange=pigeon")
    assert refused.returncode != 0
    assert "mpi.exchange = 'pigeon'" in refused.stderr
    held = train(tmp_path, 2, "stop.turns=3", "--folder", "run")
    assert held.returncode != 0
    assert "already holds a run" in held.stderr


def test_one_line_is_printed_for_a_turn_not_one_for_each_rank(tmp_path):
    done = train(tmp_path, 3, "stop.turns=2", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["event"] for line in lines].count("end") == 1
    assert sum(line["event"] == "turn" for line in lines) == 12


SCRIPT = """
import os, pathlib, evolute
from tests.engines.workers import noisy
for name in ("one", "two"):
    run = evolute.run(noisy, space={"lr": evolute.Float(1e-3, 0.5, log=True)}, population=4, stop={"turns": 3}, folder=name,
                      engine="mpi", mode="async", display="none")
    pathlib.Path(f"{name}-{os.getpid()}.txt").write_text(f"{run.best.score} {run.best.state['total']}")
"""


def test_a_script_runs_on_all_ranks_and_gets_the_run_on_each(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    job = mpiexec.mpiexec(2, "script.py", cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 0, errors
    for name in ("one", "two"):
        texts = [path.read_text() for path in tmp_path.glob(f"{name}-*.txt")]
        assert len(texts) == 2
        assert len(set(texts)) == 1


def test_without_mpi_a_sentence_says_what_to_install(tmp_path):
    (tmp_path / "mpi4py.py").write_text("raise ImportError('no MPI here')")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "evolute", "run", "toy", "-m", "engine=mpi"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 2
    assert "pip install 'evolute[mpi]'" in done.stderr
    shutil.rmtree(tmp_path / "runs", ignore_errors=True)


def test_an_error_in_the_thread_that_makes_mpi_calls_ends_the_job_instead_of_leaving_all_waiting():
    code = "import time; from evolute.engines.links.ranks import world; r = world(); "
    code += "r.rank == 1 and r.do(lambda: 1 / 0); time.sleep(60)"
    job = mpiexec.mpiexec(2, "-c", code, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    _, errors = job.communicate(timeout=30)
    assert job.returncode != 0
    assert "ZeroDivisionError" in errors
