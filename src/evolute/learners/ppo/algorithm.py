"""What differs between learners on PPO's parts: what is maximised, what is estimated, and which settings they do without."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolute.learners.ppo.spec import Estimate, Objective

ONE_STEP: Mapping[str, Any] = {"epochs": 1, "minibatches": 1}
"""One gradient step for each rollout, on all of it."""


@dataclass(frozen=True)
class Algorithm:
    """A learner's name, which is also that of its section, and how it learns. `fixed` are settings that users cannot change."""

    name: str
    objective: Objective
    estimate: Estimate
    fixed: Mapping[str, Any] = field(default_factory=dict)


PPO_ALGORITHM = Algorithm("ppo", "clip", "gae")
