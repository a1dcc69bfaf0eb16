"""The probes of `tests.envs.probes` with a continuous action, which most of them ignore."""

from __future__ import annotations

from dataclasses import replace

from gymnasium.spaces import Box
from tests.envs import probes


def _boxed(probe):
    return replace(probe, action_space=Box(-1.0, 1.0, (1,)))


def value_only():
    return _boxed(probes.value_only())


def discounting():
    return _boxed(probes.discounting())


def time_limit():
    return _boxed(probes.time_limit())


def true_end():
    return _boxed(probes.true_end())


def images():
    """Continuous actions under images, which nobody here learns."""
    return replace(_boxed(probes.value_only()), observation_space=Box(0, 255, (8, 8, 3), "uint8"))


def unbounded():
    return replace(probes.value_only(), action_space=Box(float("-inf"), float("inf"), (1,)))
