"""Groups of workers: on all, on any that is free, results as they come; exceptions with their traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.engines import grouped, mpiexec
from tests.engines.workers import children

from evolute.engines.group import WorkerError, open_group


@pytest.mark.parametrize("workers", [1, 3])
def test_a_group_of_processes(workers):
    with open_group(grouped.Counter, workers=workers) as group:
        grouped.check(group)
    assert children() == []


def test_a_worker_that_dies_is_replaced_and_the_caller_is_told():
    with open_group(grouped.Counter, workers=1) as group:
        with pytest.raises(WorkerError, match="exit code 7"):
            group.all("die")
        assert group.all("add", 1) == [1]


def test_a_group_of_ranks():
    process = mpiexec.mpiexec(3, "-m", "tests.engines.grouped", "mpi", "2", stdout=subprocess.PIPE)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.split("\n")[:-1] == ["all is well"] * 2


@pytest.mark.slow(reason="groups work on a real Ray runtime as on processes and ranks")
def test_a_group_of_actors():
    command = [sys.executable, "-m", "tests.engines.grouped", "ray", "1"]
    done = subprocess.run(command, cwd=mpiexec.ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "all is well" in done.stdout


def test_an_engine_without_a_group_is_refused():
    with pytest.raises(ValueError, match="processes, mpi or ray"), open_group(grouped.Counter, engine="inline"):
        pass
