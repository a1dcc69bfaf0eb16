"""BLAS on one thread: numpy's and scipy's, nested, after errors, and at no cost."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
import scipy.linalg  # noqa: F401  # brings a BLAS of its own
from threadpoolctl import threadpool_info, threadpool_limits

from evolute.threads import single_blas_thread


def threads():
    """Of the libraries of numpy and scipy; others, such as PyTorch's, may have been loaded by tests before these."""
    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return [library["num_threads"] for library in found if {"numpy.libs", "scipy.libs"} & set(Path(library["filepath"]).parts)]


@pytest.fixture(autouse=True)
def _several_threads():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_every_blas_works_on_one_thread_within_it_and_on_as_many_as_before_after_it():
    before = threads()
    assert before
    with single_blas_thread():
        assert threads() == [1] * len(before)
        with single_blas_thread():
            assert threads() == [1] * len(before)
        assert threads() == [1] * len(before)
    assert threads() == before
    with pytest.raises(ZeroDivisionError), single_blas_thread():
        _ = 1 / 0
    assert threads() == before


def test_a_decorated_function_works_on_one_thread_at_every_call():
    decorated = single_blas_thread()(threads)
    before = threads()
    assert decorated() == decorated() == [1] * len(before)
    assert threads() == before


def test_scipys_blas_is_known_though_scipy_was_imported_later():
    code = (
        "from evolute.threads import single_blas_thread\n"
        "import threadpoolctl\n"
        "with single_blas_thread():\n"
        "    import scipy.linalg, scipy.optimize\n"
        "    info = threadpoolctl.threadpool_info()\n"
        "    assert len(info) == 2, info\n"
        "    assert {one['num_threads'] for one in info} == {1}, info\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_it_costs_less_than_a_millisecond_of_processor_time():
    with single_blas_thread():
        pass
    started = time.process_time()
    for _ in range(100):
        with single_blas_thread():
            pass
    assert time.process_time() - started < 0.1
