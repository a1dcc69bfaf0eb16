"""Fixtures that several folders of tests share."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys

import pytest

from evolute.learners.kit.flags import FLAGS
from evolute.store import points

os.environ.update(JAX_NUM_CPU_DEVICES="2", XLA_FLAGS=FLAGS)  # before any test imports JAX


@pytest.fixture(autouse=True, scope="module")
def _free_programs():
    """Compiled programs of one file of tests are of no use to the next, and take much memory; glibc is told to return it."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


class StopHereError(Exception):
    """Ends a run at a write point as a kill would, but in this process."""


@pytest.fixture
def stopped_at(monkeypatch):
    """Calls something that trains, and leaves it in the middle of things: at the write point of the given number."""

    def stopped(count: int, action) -> None:
        passed = []

        def hook(name: str) -> None:
            passed.append(name)
            if len(passed) == count:
                raise StopHereError(name)

        monkeypatch.setattr(points, "hooks", [hook])
        with pytest.raises(StopHereError):
            action()
        monkeypatch.setattr(points, "hooks", [])

    return stopped
