"""A crew of processes on this machine, and environments that end or hang the actors that step them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from tests.envs.uneven import Uneven

from evolute.engines.group import LEASE, Group, MakeMethods
from evolute.engines.links.processes import ProcessLink


@dataclass(frozen=True)
class ProcessCrew:
    """What actors on other machines are, without other machines."""

    where: str = "ray"

    def open(self, make, count):
        return Group(ProcessLink(MakeMethods(make), count, LEASE))


class Deadly(Uneven):
    """Ends its process in the 5th step."""

    def step(self, action):
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == 5:
            os._exit(3)
        return super().step(action)


class Stuck(Deadly):
    """Hangs in the 5th step."""

    def step(self, action):
        if getattr(self, "steps", 0) == 4:
            time.sleep(1000)
        return super().step(action)
