"""A trust region: how far from its parent an heir may be (arXiv 2207.09405, section 3.1, after TuRBO and Casmopolitan).

It grows after successes in a row and shrinks after failures. Once it is too small, or too long without a new best, it restarts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from evolute.core.ranking import better

SIDE, SIDE_LOW, SIDE_HIGH = 0.4, 0.15, 1.0
RADIUS, RADIUS_LOW, RADIUS_HIGH = 1.0, 0.1, 1.0
FACTOR = 1.5
SUCCESSES, FAILURES, PATIENCE = 3, 10, 15


@dataclass(frozen=True)
class Region:
    """The side of the box in the unit cube, the share of categories that may differ, and what led to them.

    `restarts` counts the restarts; `restarted` says that one has just happened.
    """

    side: float = SIDE
    radius: float = RADIUS
    successes: int = 0
    failures: int = 0
    best: float | None = None
    stale: int = 0
    restarts: int = 0
    restarted: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Region:
        """The region that `to_json` described; older runs call `restarted` `anew`."""
        return cls(**{"restarted" if key == "anew" else key: value for key, value in stored.items()})

    def after(self, *, success: bool, best: float) -> Region:
        """The region after a round, in which a proposed member came first or not, and the best score then."""
        improved = better(best, self.best)
        grown = replace(
            self,
            successes=self.successes + 1 if success else 0,
            failures=0 if success else self.failures + 1,
            best=best if improved else self.best,
            stale=0 if improved else self.stale + 1,
            restarted=False,
        )
        return grown._resized()._restarted()

    def changes(self, categories: int) -> int:
        """How many of this number of categories may differ from the parent's."""
        return math.ceil(self.radius * categories - 1e-9)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def summary(self) -> dict[str, Any]:
        """What goes into the journal beside each proposal."""
        return {
            "side": round(self.side, 4),
            "radius": round(self.radius, 4),
            "restarts": self.restarts,
            "restarted": self.restarted,
        }

    def _resized(self) -> Region:
        if self.successes == SUCCESSES:
            side, radius = min(self.side * FACTOR, SIDE_HIGH), min(self.radius * FACTOR, RADIUS_HIGH)
            return replace(self, side=side, radius=radius, successes=0)
        if self.failures == FAILURES:
            return replace(self, side=self.side / FACTOR, radius=self.radius / FACTOR, failures=0)
        return self

    def _restarted(self) -> Region:
        if self.side >= SIDE_LOW and self.radius >= RADIUS_LOW and self.stale < PATIENCE:
            return self
        return Region(best=self.best, restarts=self.restarts + 1, restarted=True)
