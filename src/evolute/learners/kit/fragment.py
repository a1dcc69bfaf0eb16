"""Fragments: what members learn from when nobody waits for anybody, with the versions of the policies that acted."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.host_rollout import Trajectory

Array = np.ndarray[Any, Any]


class Fragment(NamedTuple):
    """Some steps of one row: what a Trajectory has of it, the policy's version at its first step, and the mean over all."""

    member: int
    row: int
    first_version: int
    mean_version: float
    steps: Trajectory


class FragmentSource(Protocol):
    """Where fragments come from: rows that are acted for here, or actors elsewhere."""

    def use(self, players: Player, versions: Array) -> None:
        """Act with these weights from now on, of which `versions` [member] says how many updates they have had."""

    def take(self, done: Array, patience: float) -> list[Fragment]:
        """Fragments that are whole by now; members that are `done` need none. Waits for about `patience` seconds at most."""
