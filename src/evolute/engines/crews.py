"""Where actors on other machines come from: Ray, or the ranks of an MPI job. A crew is sent to workers and opened there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evolute.engines.group import LEASE, Group, MakeMethods


@dataclass(frozen=True)
class RayCrew:
    """Ray actors: of the cluster at `address`, of the one that this process is part of, or of a runtime that is started here.

    The nodes get them in turn. They reserve no CPUs, so that there is always room for those that are replaced.
    """

    address: str | None = None
    where: str = "ray"

    def open(self, make: Callable[[], Any], count: int) -> Group:
        from evolute.engines.links.ray import RayLink
        from evolute.engines.links.ray_runtime import connected

        disconnect = connected(self.address, None, 0.0)
        return Group(RayLink(MakeMethods(make), count, LEASE, {"num_cpus": 0.0}, disconnect, in_turn=True))


@dataclass(frozen=True)
class RankCrew:
    """The ranks of an MPI job that act for the one that this is opened on; each has made its object itself."""

    where: str = "ranks"

    def open(self, make: Callable[[], Any], count: int) -> Group:
        from evolute.engines.links.ranks import world
        from evolute.engines.links.team import TeamLink

        return Group(TeamLink(world(), LEASE))
