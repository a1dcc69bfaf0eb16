"""PPO for whole populations, in one compiled program."""

from __future__ import annotations

from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import PPOSettings


def ppo(*, env: EnvSpec, settings: PPOSettings) -> Learner[Any]:
    """Proximal policy optimisation (Schulman et al. 2017), one compiled program for all members."""
    from evolute.learners.ppo.algorithm import PPO_ALGORITHM
    from evolute.learners.ppo.make import make

    return make(PPO_ALGORITHM, env, settings)
