"""Ctrl-C and SIGTERM: what has finished is saved, exit code and message say how to resume; a second one stops at once."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evolute.core.order import Ref
from evolute.runs.result import Run
from evolute.store.checkpoints import Checkpoints

COMMAND = [sys.executable, "-m", "evolute", "run", "-m", "train.h=[0, 1]", "population=3", "stop.turns=8", "name=slow"]


@pytest.fixture
def place(tmp_path):
    shutil.copy(Path(__file__).with_name("slow.py"), tmp_path)
    return tmp_path


def start(place: Path, *more: str, turn: int = 0, learner: str = "slow:train") -> subprocess.Popen:
    """A run that holds in this turn, which it has begun."""
    more = (f"train.hold={turn}", *more)
    command = [word.replace("train.", f"{learner.split(':')[1]}.") for word in (*COMMAND, f"learner={learner}", *more)]
    process = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(place / f"begun-{turn}")
    return process


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 120
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} never appeared"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("more", [(), ("limit=60",)])
def test_a_signal_saves_what_has_finished_and_says_how_to_resume(place, number, more):
    process = start(place, *more, turn=2)
    process.send_signal(number)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number
    assert "evolute resume runs/slow-1" in errors
    assert "Traceback" not in errors
    stopped = Run.open(place / "runs" / "slow-1")
    assert stopped.status == "unfinished"
    latest = {member.latest.ref for member in stopped.population.members if member.latest is not None}
    assert latest == {Ref(member, 1) for member in range(3)}
    assert latest <= Checkpoints(place / "runs" / "slow-1" / "checkpoints").refs()
    (place / "released").touch()
    done = subprocess.run([sys.executable, "-m", "evolute", "resume", "slow-1"], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "resuming runs/slow-1" in done.stdout
    assert [member.turns for member in Run.open(place / "runs" / "slow-1").population.members] == [8, 8, 8]


def test_a_second_signal_stops_at_once(place):
    process = start(place, learner="slow:stubborn")
    process.send_signal(signal.SIGINT)
    wait_for(place / "refused")
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 128 + signal.SIGINT
    process.communicate()
    assert Run.open(place / "runs" / "slow-1").status == "unfinished"


def test_a_second_process_on_the_same_run_is_refused_and_told_who_holds_it(place):
    process = start(place)
    second = subprocess.run([*COMMAND, "learner=slow:train", "train.hold=0"], cwd=place, capture_output=True, text=True)
    assert second.returncode == 2
    assert f"runs/slow-1 is held by process {process.pid}" in second.stderr
    assert "--new" in second.stderr
    process.kill()
    process.communicate()
    (place / "released").touch()
    after = subprocess.run([*COMMAND, "learner=slow:train", "train.hold=0"], cwd=place, capture_output=True, text=True)
    assert after.returncode == 0, after.stderr
    assert f"took the run over from process {process.pid}" in after.stdout


def test_a_killed_leader_leaves_no_child_behind(place):
    process = start(place, "limit=600")
    children = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
    assert len(children) == 1
    process.kill()
    process.communicate()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{children[0]}").exists():
        assert time.monotonic() < deadline, "the child outlived its leader"
        time.sleep(0.05)
