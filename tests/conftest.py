"""Fixtures that several folders of tests share."""

from __future__ import annotations

import os

import jax
import pytest

from evolute.learners.ppo.members import FLAGS
from evolute.store import points

# Whichever test starts JAX first. JAX has read its environment by now, so that is for child processes.
os.environ.update(JAX_NUM_CPU_DEVICES="2", XLA_FLAGS=FLAGS)
jax.config.update("jax_num_cpu_devices", 2)


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
