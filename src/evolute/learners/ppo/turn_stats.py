"""What happened in a turn of PPO, for its metrics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from evolute.learners.kit import episode_stats
from evolute.learners.kit.episode_stats import EpisodeStats
from evolute.learners.ppo.loss import LOSSES


class TurnStats(NamedTuple):
    """The last episodes, sums of `LOSSES` over the updates, how many updates there were, and whether all was `finite`."""

    episodes: EpisodeStats
    losses: Any
    updates: Any
    finite: Any


def blank(ring: int) -> TurnStats:
    """Before a turn; the last `ring` episodes are kept."""
    return TurnStats(episode_stats.blank(ring), np.zeros(len(LOSSES), np.float32), np.int32(0), np.float32(1))
