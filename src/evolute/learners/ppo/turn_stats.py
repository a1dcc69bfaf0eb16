"""What happened in a turn of PPO, for its metrics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evolute.learners.kit import episode_stats
from evolute.learners.kit.episode_stats import EpisodeStats
from evolute.learners.ppo.loss import LOSSES

SUSPECTS = ("environment gave an observation", "value network gave a value", "environment gave a reward")
"""What may not be finite, in the order in which a step has them."""
UNKNOWN = (-1, -1, -1)


class TurnStats(NamedTuple):
    """The last episodes, sums of `LOSSES` over the updates, how many updates there were, and whether all was `finite`.

    If not, `trouble` is the first number that was none: which of `SUSPECTS`, env and step; -1 where that is not known.
    """

    episodes: EpisodeStats
    losses: Any
    updates: Any
    finite: Any
    trouble: Any = UNKNOWN


def blank(ring: int, channels: int = 0) -> TurnStats:
    """Before a turn; the last `ring` episodes are kept."""
    losses = np.zeros(len(LOSSES), np.float32)
    return TurnStats(episode_stats.blank(ring, channels), losses, np.int32(0), np.float32(1), np.array(UNKNOWN, np.int32))
