"""Training in Ray actors, on a real runtime: a node that is removed, a cluster started as the documents say, clean ends."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.engines.mpiexec import ROOT
from tests.engines.workers import noisy, outcome

import evolute
from evolute.report.data.details import run_details
from evolute.runs.result import Run

pytestmark = pytest.mark.slow(reason="real Ray runtimes: nodes that go, clean ends, the documented commands")

ENV = {
    **os.environ,
    "RAY_raylet_start_wait_time_s": "120",
    "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
}
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


def test_a_node_that_is_removed_takes_its_workers_with_it_and_the_run_goes_on(tmp_path):
    space = {"lr": evolute.Float(1e-3, 0.5, log=True)}
    evolute.run(noisy, folder=tmp_path / "whole", space=space, population=4, stop={"turns": 12}, display="none")
    command = [sys.executable, "-m", "tests.engines.nodes", str(tmp_path / "cut"), "12"]
    done = subprocess.run(command, cwd=ROOT, env={**ENV, **TOKEN}, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "cut") == outcome(tmp_path / "whole")
    assert run_details(Run.open(tmp_path / "cut"))["workers_lost"] == 1


def test_a_run_that_was_started_inline_is_resumed_on_ray(tmp_path):
    for folder, turns in (("whole", 6), ("moved", 3)):
        command = [sys.executable, "-m", "evolute", "run", "toy", "--folder", folder, "-m", f"stop.turns={turns}"]
        assert subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True).returncode == 0
    command = [sys.executable, "-m", "evolute", "resume", "moved", "-m", "engine=ray", "workers=2", "stop.turns=6"]
    done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    assert outcome(tmp_path / "moved")[1] == outcome(tmp_path / "whole")[1]


def commands() -> list[str]:
    """The commands of the section on a Ray cluster in docs/engines.md."""
    section = (ROOT / "docs" / "engines.md").read_text().partition("## A Ray cluster")[2].partition("\n## ")[0]
    return [line.partition("#")[0].strip() for line in re.findall(r"^    (\S.*)$", section, re.MULTILINE)]


def here(command: str, words: dict[str, str], temporary: Path) -> str:
    """A command of the documents, for one machine and a small problem."""
    for word, mine in words.items():
        command = command.replace(word, mine)
    if command.startswith("ray start"):
        head = f" --temp-dir={temporary} --include-dashboard=false" if "--head" in command else ""
        return f"{command} --num-cpus=1{head}"
    return f"{command} population=4 stop.turns=3".replace("cartpole", "toy") if command.startswith("evolute") else command


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_a_cluster_of_two_nodes_starts_as_the_documents_say(tmp_path):
    """On one machine; where the documents stop Ray everywhere, only what was started here is stopped."""
    shown = commands()
    assert shown[-1] == "ray stop"
    home = tmp_path / "home"
    home.mkdir()
    temporary = Path("/tmp") / f"evolute-ray-{os.getpid()}"
    words = {"FIRST": "127.0.0.1", "6379": str(free_port())}
    script = ["set -ex", f"export HOME={home} PATH={Path(sys.executable).parent}:$PATH"]
    script += [here(command, words, temporary) for command in shown[:-1] if not command.startswith("scp")]
    before = {pid for pid in os.listdir("/proc") if pid.isdigit()}
    try:
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)], cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=280
        )
        assert done.returncode == 0, done.stderr
        assert "finished its 3 turns" in done.stdout
        refused = subprocess.run(
            [sys.executable, "-c", f"import ray; ray.init(address='127.0.0.1:{words['6379']}')"],
            env={**ENV, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "guess" * 8},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert refused.returncode != 0
    finally:
        for pid in {pid for pid in os.listdir("/proc") if pid.isdigit()} - before:
            _end_if_ours(int(pid), str(temporary), words["6379"])


def _end_if_ours(pid: int, *marks: str) -> None:
    """Kill a process that has one of these marks in its command line: this cluster's folder, or its port."""
    try:
        command = (Path("/proc") / str(pid) / "cmdline").read_text()
        if any(mark in command for mark in marks) and pid != os.getpid():
            os.kill(pid, signal.SIGKILL)
    except OSError:
        return


@pytest.mark.parametrize("number", [signal.SIGINT])
def test_a_local_runtime_is_on_loopback_and_leaves_nothing_behind_after_ctrl_c(tmp_path, number):
    command = [sys.executable, "-m", "evolute", "run", "-m", "learner=tests.engines.workers:noisy", "noisy.lr=log[1e-3,0.5]"]
    command += ["noisy.sleep=0.2", "population=2", "stop.turns=1000", "engine=ray", "workers=2"]
    leader = subprocess.Popen(
        command, cwd=tmp_path, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 200
    while not any("turn 1" in line for line in iter(leader.stdout.readline, "")):
        assert time.monotonic() < deadline
    ours = descendants(leader.pid)
    sockets = {link for pid in ours for link in _links(pid)}
    listening = {address for address, inode in _listeners() if f"socket:[{inode}]" in sockets}
    leader.send_signal(number)
    _, errors = leader.communicate(timeout=60)
    assert leader.returncode == 128 + number
    assert "evolute resume" in errors
    assert listening
    assert all(address in ("127.0.0.1", "::1", "::ffff:127.0.0.1") for address in listening), listening
    deadline = time.monotonic() + 180
    while (left := still(ours)) and time.monotonic() < deadline:
        time.sleep(0.5)
    assert not left


SLOW_START = """
import ray, evolute
begin, failures, calls = ray.init, {failures}, []
def init(*args, **options):
    calls.append(args)
    if len(calls) <= failures:
        raise Exception("The current node timed out during startup.")
    return begin(*args, **options)
ray.init = init
evolute.run(preset="toy", engine="ray", workers=1, folder="run", stop=dict(turns=1), display="none")
print(len(calls))
"""


@pytest.mark.parametrize("failures", [2, 3])
def test_a_runtime_that_does_not_start_in_time_is_started_again(tmp_path, failures):
    command = [sys.executable, "-c", SLOW_START.format(failures=failures)]
    done = subprocess.run(command, cwd=tmp_path, env=ENV, capture_output=True, text=True, timeout=280)
    if failures < 3:
        assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    else:
        assert "Ray could not start a runtime here (3 attempts): The current node timed out" in done.stderr


def descendants(pid: int) -> dict[int, str]:
    """The processes that this one has started, and those that these have, with their command lines."""
    found = {pid: ""}
    for _ in range(5):
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and int(Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[1]) in found:
                    found[int(entry)] = Path(f"/proc/{entry}/cmdline").read_text()
            except OSError:
                continue
    del found[pid]
    return found


def still(processes: Iterable[int]) -> list[str]:
    """The command lines of those that still run."""
    found = []
    for pid in processes:
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_text())
    return [words for words in found if words]


def _links(pid: int) -> set[str]:
    try:
        return {os.readlink(entry) for entry in (Path("/proc") / str(pid) / "fd").iterdir()}
    except OSError:
        return set()


def _listeners() -> list[tuple[str, str]]:
    """The address and inode of every socket that listens."""
    found = []
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A":
                raw = bytes.fromhex(local.split(":")[0])
                ordered = b"".join(raw[start : start + 4][::-1] for start in range(0, len(raw), 4))
                found.append((socket.inet_ntop(family, ordered), inode))
    return found


def test_a_start_with_jax_warns_of_nothing(tmp_path):
    command = [sys.executable, "-m", "evolute", "run", "cartpole", "-m", "population=2", "interval=64", "stop.steps=64"]
    command += ["ppo.envs=2", "ppo.unroll=16", "ppo.minibatches=1", "ppo.widths=[8]", "engine=ray", "workers=2"]
    user = {key: value for key, value in ENV.items() if key not in ("JAX_NUM_CPU_DEVICES", "NPROC", "XLA_FLAGS")}
    done = subprocess.run(command, cwd=tmp_path, env=user, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr + done.stdout
    assert "JAX was started" not in done.stderr + done.stdout
