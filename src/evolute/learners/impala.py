"""IMPALA's learner (Espeholt et al. 2018): an actor-critic whose rollouts may be an older policy's, corrected by V-trace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import doc

from evolute.core.param import Evolves
from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import Correct, CriticSettings, Natural, Number, Share


@dataclass(frozen=True)
class ImpalaSettings(CriticSettings):
    """How IMPALA trains."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 1e-3
    gae_lambda: Annotated[Share, doc("lambda of the traces; 1: as published")] = 1.0
    entropy: Annotated[Natural, doc("weight of the entropy bonus")] = 0.01
    envs: Annotated[Number, Evolves.LISTED, doc("environments of each member")] = 16
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment in a rollout")] = 20
    correct: Annotated[Correct, Evolves.NEVER, doc("correct for rollouts of an older policy: none, or by V-trace")] = "vtrace"


def impala(*, env: EnvSpec, settings: ImpalaSettings) -> Learner[Any]:
    """IMPALA's actor-critic with V-trace (Espeholt et al. 2018), one compiled program for all members."""
    from evolute.learners.ppo.algorithm import ONE_STEP, Algorithm
    from evolute.learners.ppo.make import make

    return make(Algorithm("impala", "gradient", "gae", ONE_STEP), env, settings)
