"""Advantage actor-critic (A2C, Mnih et al. 2016): one gradient step for each short rollout, on n-step returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import doc

from evolute.core.param import Evolves
from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import CriticSettings, Natural, Number, Share


@dataclass(frozen=True)
class A2CSettings(CriticSettings):
    """How A2C trains. With a lambda of 1, advantages are those of n-step returns."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 2e-3
    gae_lambda: Annotated[Share, doc("lambda of generalised advantage estimation (GAE); 1: n-step returns")] = 1.0
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 16
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment in a rollout")] = 5


def a2c(*, env: EnvSpec, settings: A2CSettings) -> Learner[Any]:
    """Advantage actor-critic (Mnih et al. 2016), one compiled program for all members."""
    from evolute.learners.ppo.algorithm import ONE_STEP, Algorithm
    from evolute.learners.ppo.make import make

    return make(Algorithm("a2c", "gradient", "gae", ONE_STEP), env, settings)
