"""Soft actor-critic (Haarnoja et al. 2018) for continuous actions, one compiled program for all members."""

from __future__ import annotations

from typing import Any

from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.offpolicy.settings import SACSettings


def sac(*, env: EnvSpec, settings: SACSettings) -> Learner[Any]:
    """Soft actor-critic (Haarnoja et al. 2018) for continuous actions."""
    from evolute.learners.offpolicy.make import make

    return make("sac", env, settings)
