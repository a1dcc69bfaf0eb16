"""The probes of `tests.envs.probes` with a continuous action, which most of them ignore, and one that ends soon."""

from __future__ import annotations

from dataclasses import replace

from gymnasium.spaces import Box
from tests.envs import probes
from tests.envs.probes import Probe


def _boxed(probe):
    return replace(probe, action_space=Box(-1.0, 1.0, (1,)))


def value_only():
    return _boxed(probes.value_only())


def discounting():
    return _boxed(probes.discounting())


def time_limit():
    return _boxed(probes.time_limit())


def three_steps():
    """1 a step, over after 3. Time is shown, as -1, 0 and 1."""
    return Probe(length=3, show=lambda memory, time: time - 1.0)


def three_steps_boxed():
    return _boxed(three_steps())


def images():
    """Continuous actions under images, which nobody here learns."""
    return replace(_boxed(probes.value_only()), observation_space=Box(0, 255, (8, 8, 3), "uint8"))


def unbounded():
    return replace(probes.value_only(), action_space=Box(float("-inf"), float("inf"), (1,)))
