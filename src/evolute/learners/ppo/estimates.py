"""What is estimated of a rollout before its minibatches: advantages, and targets of the value."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax

from evolute.learners.ppo import gae, returns, vtrace
from evolute.learners.ppo.rollout import Rollout
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec


class Estimates(NamedTuple):
    """Of each step [time, env, …]: its advantage, the target of its value, and whether it is `valid`, so that it counts.

    `weight` is how much a step counts that an older policy made; () if that is not corrected for.
    """

    advantage: Any
    target: Any
    valid: Any
    weight: Any = ()


def estimated(spec: PPOSpec, rollout: Rollout, last_value: jax.Array, h: Traced) -> Estimates:
    """The estimates that a learner goes by; `last_value` is that of the observations after the rollout [env(, channel)]."""
    if spec.estimate == "vtrace":
        advantage, target, weight = vtrace.corrected(rollout, last_value, h)
        return Estimates(advantage, target, rollout.valid, weight)
    if spec.estimate == "returns":
        advantage, known = returns.advantages(rollout, h)
        return Estimates(advantage, rollout.value, rollout.valid * known)
    advantage = gae.advantages(rollout, last_value, h)
    return Estimates(advantage, advantage + rollout.value, rollout.valid)
