"""Deep Q-learning (Mnih et al. 2015) for one choice among actions, one compiled program for all members."""

from __future__ import annotations

from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.offpolicy.settings import DQNSettings


def dqn(*, env: EnvSpec, settings: DQNSettings) -> Learner[Any]:
    """Deep Q-learning (Mnih et al. 2015) for one choice among actions."""
    from evolute.learners.offpolicy.make import make

    return make("dqn", env, settings)
