"""The policy gradient (REINFORCE, Williams 1992): returns of whole episodes minus their mean, and no critic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import doc

from evolute.core.param import Evolves
from evolute.core.protocols import Learner
from evolute.envs.spec import EnvSpec
from evolute.learners.ppo.settings import Natural, Number, OnPolicySettings


@dataclass(frozen=True)
class PGSettings(OnPolicySettings):
    """How the policy gradient trains: each rollout must be long enough for episodes to end in it."""

    lr: Annotated[Natural, doc("learning rate of Adam")] = 3e-3
    unroll: Annotated[Number, Evolves.LISTED, doc("steps of each environment in a rollout, the longest episode or more")] = 500


def pg(*, env: EnvSpec, settings: PGSettings) -> Learner[Any]:
    """The policy gradient (REINFORCE, Williams 1992), one compiled program for all members."""
    from evolute.learners.ppo.algorithm import ONE_STEP, Algorithm
    from evolute.learners.ppo.make import make

    fixed = {**ONE_STEP, "value_weight": 0.0}
    return make(Algorithm("pg", "gradient", "returns", fixed), env, settings)
