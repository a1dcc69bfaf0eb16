"""Any algorithm of Stable-Baselines3 or sb3-contrib: `sb3:PPO`, `sb3:SAC`, `sb3:TQC`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evolute.core.names import family
from evolute.core.protocols import Learner


@family("PPO")
def sb3(algorithm: str) -> Callable[..., Learner[Any]]:
    """Any algorithm of Stable-Baselines3 or sb3-contrib, as in `sb3:SAC`; its settings are those of its constructor."""
    from evolute.learners.sb3.algorithm import algorithm_of
    from evolute.learners.sb3.learner import maker

    return maker(algorithm_of(algorithm))
