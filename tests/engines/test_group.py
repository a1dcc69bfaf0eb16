"""Groups of workers: on all, on any that is free, results as they come; exceptions with their traceback."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from tests.engines import grouped, mpiexec
from tests.engines.workers import children

from evolute.engines.group import Group, MakeMethods, WorkerError, open_group
from evolute.engines.links.processes import ProcessLink


@pytest.mark.parametrize("workers", [1, 3])
def test_a_group_of_processes(workers):
    with open_group(grouped.Counter, workers=workers) as group:
        grouped.check(group)
    assert children() == []


def test_a_call_whose_worker_died_is_made_again_if_the_caller_says_so(tmp_path):
    with open_group(grouped.Counter, workers=2) as group:
        died = [str(tmp_path / name) for name in ("map", "any", "all", "none")]
        assert group.map("die_once", [died[0]] * 6, range(6), retries=1) == [number**2 for number in range(6)]
        assert group.any("die_once", died[1], 3, retries=1) == 9
        assert group.all("die_once", died[2], 3, retries=2) == [9, 9]
        with pytest.raises(WorkerError, match="exit code 7"):
            group.map("die_once", [died[3]] * 2, range(2))
        assert group.map("square", range(4)) == [0, 1, 4, 9]


def test_a_worker_that_has_started_is_greeted_before_anything_else():
    with open_group(grouped.Counter, workers=2) as group:
        group.greet("add", 5)
        assert group.all("add", 1) == [6, 6]
        group.greet("add", 10)
        with pytest.raises(WorkerError, match="exit code 7"):
            group.any("die")
        assert sorted(group.all("add", 1)) == [7, 11]


def test_workers_outlive_a_leader_that_had_nothing_to_ask_for_longer_than_their_lease():
    group = Group(ProcessLink(MakeMethods(grouped.Counter), 1, lease=1.0))
    pid = group.all("where")
    time.sleep(2.5)
    assert group.all("where") == pid
    group.close()
    assert children() == []


def test_a_greeting_that_fails_is_told():
    with open_group(grouped.Counter, workers=1) as group:
        group.greet("fail", "hello")
        with pytest.raises(WorkerError, match=r"(?s)worker 0 failed in its greeting.*KeyError: 'hello'"):
            group.all("add", 1)


@pytest.mark.slow(reason="a greeting that kills a worker three times is told, instead of being tried for ever")
def test_a_greeting_that_kills_is_told():
    with open_group(grouped.Counter, workers=1) as group:
        group.greet("die")
        with pytest.raises(WorkerError, match=r"(?s)worker 0 failed in its greeting.*exit code 7"):
            group.all("add", 1)


def test_a_stream_outlives_workers_that_are_killed_but_not_one_that_always_dies():
    killed, taken = [], Counter()
    with open_group(grouped.Counter, workers=2) as group:
        group.greet("add", 100)
        pids = group.all("where")
        for worker, total in group.stream("add", 1):
            assert total > 100
            taken[worker] += 1
            if taken[0] == 5 and not killed:
                killed.append(pids[0])
                os.kill(pids[0], signal.SIGKILL)
            if killed and worker == 0 and total == 101:
                break
        with pytest.raises(WorkerError, match="exit code 7"):
            next(group.stream("die"))
    assert children() == []


def test_a_gather_reads_no_more_than_workers_can_take():
    read = []

    def numbers():
        for number in itertools.count():
            read.append(number)
            yield number

    with open_group(grouped.Counter, workers=2) as group:
        for place, value in itertools.islice(group.gather("square", numbers()), 10):
            assert value == place**2
            assert len(read) <= 10 + 2 + 1


@pytest.mark.slow(reason="starts real ranks")
def test_a_group_of_ranks():
    process = mpiexec.mpiexec(3, "-m", "tests.engines.grouped", "mpi", "2", "3", stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    assert out.split("\n")[:-1] == ["all is well"] * 2


@pytest.mark.slow(reason="groups work on a real Ray runtime as on processes and ranks, and replace actors that die")
@pytest.mark.parametrize("engine", ["ray", "far-ray"])
def test_a_group_of_actors(tmp_path, engine):
    command = [sys.executable, "-m", "tests.engines.grouped", engine, "1", "3", str(tmp_path / "died")]
    done = subprocess.run(command, cwd=mpiexec.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all is well" in done.stdout


def test_an_engine_without_a_group_is_refused():
    with pytest.raises(ValueError, match="processes, mpi or ray"), open_group(grouped.Counter, engine="inline"):
        pass
