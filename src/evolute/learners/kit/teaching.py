"""Teachers: states whose policies members imitate while they learn by themselves as well (policy distillation)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, likeness
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Gaussian
from evolute.learners.kit.evaluation import Player


class TeacherInputs(NamedTuple):
    """A teacher as it plays, and how much it counts at the turn's first and last update [2]."""

    player: Player
    weight: Any


def policy_of(about: Mapping[str, Any], student: PolicySpec) -> PolicySpec:
    """What acts in a teacher of this description; raises ValueError if this student cannot imitate it."""
    likeness.check_teacher(about, acting.description(student))
    network, std = acting.described_network(about), about["actions"].get("std")
    return PolicySpec(network, replace(student.actions, std=std) if isinstance(student.actions, Gaussian) else student.actions)


def weight(inputs: TeacherInputs, number: jax.Array, total: jax.Array) -> jax.Array:
    """How much the teacher counts in the update, or after the rollout, of this number."""
    first, last = inputs.weight[0], inputs.weight[1]
    now: jax.Array = first + (last - first) * number / jnp.maximum(total - 1, 1)
    return now
