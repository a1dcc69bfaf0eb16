"""Twin delayed deep deterministic policy gradient, one compiled program for all members."""

from __future__ import annotations

from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.offpolicy.settings import TD3Settings


def td3(*, env: EnvSpec, settings: TD3Settings) -> Learner[Any]:
    """Twin delayed deep deterministic policy gradient (Fujimoto et al. 2018) for continuous actions."""
    from evolute.learners.offpolicy.make import make

    return make("td3", env, settings)
