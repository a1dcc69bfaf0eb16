"""A teacher: a state whose policy, and perhaps value, a member imitates on its own rollouts, while it learns by itself as well.

This is policy distillation on the student's distribution, as in BG-PBT (Wan et al. 2022, section 3.2): the loss has the
divergence KL(teacher || student) besides PPO's own. The teacher's network may be another one than the student's.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, networks, teaching
from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Distribution
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.ppo.spec import TeacherSpec
from evolute.learners.ppo.train_state import MemberState, TrainState


def policy_of(teacher: MemberState, student: PolicySpec, *, values: bool) -> PolicySpec:
    """What acts in a teacher; raises ValueError if this student cannot learn from it. With `values`, also from its values."""
    found = teaching.policy_of(teacher.about, student)
    if values and found.network.channels != student.network.channels:
        raise ValueError(
            "ppo.teacher_value: teacher and student must have the same reward channels, or set ppo.teacher_value=0"
        )
    return found


def with_moments(student: TrainState, teacher: TrainState) -> TrainState:
    """A fresh student that knows what its teacher's observations and returns were like."""
    obs = teacher.obs if teacher.obs.mean.shape == student.obs.mean.shape else student.obs
    returns = teacher.returns if teacher.returns.mean.shape == student.returns.mean.shape else student.returns
    return student._replace(obs=obs, returns=returns)


def targets(spec: TeacherSpec, inputs: TeacherInputs, obs: jax.Array, action: jax.Array) -> jax.Array:
    """What a teacher makes of a rollout's observations, as they came: [time, env, parameter of its policy], then its values."""
    network, player = spec.policy.network, inputs.player
    weights = networks.unpacked(network, player.weights)
    flat = obs.reshape((-1, *obs.shape[2:]))
    seen = acting.preprocessing(spec.policy, player.moments, player.normalize_obs)(flat)
    memory = jnp.zeros((flat.shape[0], network.units))
    outputs = jnp.moveaxis(networks.policy(network, weights, seen, memory)[0], -1, 0)
    actions = jnp.moveaxis(action.reshape((-1, action.shape[-1])), -1, 0)
    columns = jnp.moveaxis(spec.policy.distribution.parameters(weights, outputs, actions), 0, -1)
    if spec.value_weight:
        values = networks.value(network, weights, seen, memory)
        columns = jnp.concatenate([columns, values.reshape((len(flat), -1))], axis=-1)
    return columns.reshape((*obs.shape[:2], -1))


def distances(
    spec: TeacherSpec, actions: Distribution, target: jax.Array, student: jax.Array, value: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Of each row: the divergence from the teacher's policy, and both weighed distances together.

    `target` is [column, row], `student` the parameters of its policy [parameter, row], `value` its values [(channel,) row].
    """
    number = len(student)
    divergence = actions.divergence(target[:number], student)
    distance = spec.policy_weight * divergence
    if spec.value_weight:
        errors = jnp.square(value.reshape((-1, *value.shape[-1:])) - target[number:])
        distance += spec.value_weight * jnp.sum(errors, axis=0)
    return divergence, distance
