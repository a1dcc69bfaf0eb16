"""Fixtures that several folders of tests share."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys
from pathlib import Path

import pytest

from evolute.learners.kit.flags import FLAGS
from evolute.store import points

os.environ.update(JAX_NUM_CPU_DEVICES="2", XLA_FLAGS=FLAGS)  # before any test imports JAX


GROWTH = 300_000_000
"""Bytes that compiled programs may take before they are let go in the middle of a file of tests."""
_floor = [0]


def _free() -> None:
    """Let compiled programs go, and tell glibc to return their memory."""
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    _floor[0] = _resident()


def _resident() -> int:
    """The memory of this process, in bytes; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


@pytest.fixture(autouse=True, scope="module")
def _free_programs():
    """Programs of one file of tests are of no use to the next."""
    _floor[0] = _resident()
    yield
    _free()


@pytest.fixture(autouse=True)
def _free_many_programs():
    """So that the suite stays small, whatever is compiled in one file."""
    yield
    if _resident() > _floor[0] + GROWTH:
        _free()


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
