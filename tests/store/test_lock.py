"""Two processes on one run folder: the second is refused and told who holds it; a dead one's lock is taken over."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from evolute.store.lock import HeldError, held, holder

HOLD = """
import sys, time
from pathlib import Path
from evolute.store.lock import held
with held(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def other(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_refused_and_told_who_holds_the_run(tmp_path, other):
    with pytest.raises(HeldError, match=f"process {other.pid} on .* since"), held(tmp_path):
        pass
    assert holder(tmp_path)["pid"] == other.pid


def test_the_lock_of_a_killed_process_is_taken_over(tmp_path, other):
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    assert holder(tmp_path) is None
    with held(tmp_path) as dead:
        assert dead["pid"] == other.pid
        assert holder(tmp_path)["pid"] == os.getpid()
    assert holder(tmp_path) is None


def test_the_same_process_cannot_hold_a_run_twice(tmp_path):
    with held(tmp_path), pytest.raises(HeldError, match="this process"), held(tmp_path):
        pass


def test_a_lock_that_was_let_go_leaves_no_dead_holder(tmp_path):
    with held(tmp_path) as dead:
        assert dead is None
    with held(tmp_path) as dead:
        assert dead is None


def test_another_hosts_lock_is_taken_over_only_when_asked(tmp_path):
    card = {"host": "elsewhere", "boot": "x", "pid": 7, "since": "2026-01-01 00:00:00"}
    (tmp_path / "lock").write_text(json.dumps(card))
    with pytest.raises(HeldError, match=r"process 7 on elsewhere .*--take-over"), held(tmp_path):
        pass
    with held(tmp_path, take_over=True) as dead:
        assert dead == card


def test_asking_who_holds_a_run_does_not_let_the_lock_go(tmp_path):
    with held(tmp_path):
        holder(tmp_path)
        code = "import sys; from pathlib import Path; from evolute.store.lock import held\nwith held(Path(sys.argv[1])): pass"
        done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
        assert "HeldError" in done.stderr


def test_the_holder_gives_signs_of_life(tmp_path, monkeypatch):
    monkeypatch.setattr("evolute.store.lock.HEARTBEAT", 0.05)
    with held(tmp_path):
        os.utime(tmp_path / "lock", (0, 0))
        deadline = time.monotonic() + 5
        while (tmp_path / "lock").stat().st_mtime == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert (tmp_path / "lock").stat().st_mtime > 0
