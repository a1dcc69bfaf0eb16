"""A teacher of an off-policy member: what it makes of a minibatch, and how far the student is from that.

A student learns by itself as well, from its own rows and, if buffers are inherited, from its teacher's. SAC's students follow
the teacher's distribution, TD3's its actions and DQN's its values, so a DQN teacher should have had the student's discount
and reward scale.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, networks
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState


def begun(student: MemberState, teacher: MemberState, *, rows: bool) -> MemberState:
    """A fresh student as its first turn begins: it knows what observations are like, need not act at random, and with `rows`
    has those of its teacher."""
    moments = teacher.train.obs
    same = moments.mean.shape == student.train.obs.mean.shape
    train = student.train._replace(obs=moments if same else student.train.obs, steps=teacher.train.steps)
    return replace(student, train=train, buffer=teacher.buffer if rows else student.buffer)


def outputs(spec: ReplaySpec, inputs: TeacherInputs, obs: jax.Array) -> jax.Array:
    """The outputs [row, output] of a teacher's network for observations as they came."""
    assert spec.teacher is not None
    player, network = inputs.player, spec.teacher.network
    seen = acting.preprocessing(spec.teacher, player.moments, player.normalize_obs)(obs)
    weights = networks.unpacked(network, player.weights)
    return networks.policy(network, weights, seen, jnp.zeros((len(obs), 1)))[0]


def distance(spec: ReplaySpec, teacher: jax.Array, student: jax.Array) -> jax.Array:
    """How far a student's outputs are from the teacher's, both [row, output]: of each row, a divergence or squared distance."""
    if spec.algorithm == "sac":
        policy = spec.policy.distribution
        of_teacher, of_student = (policy.parameters({}, one.T, one.T) for one in (teacher, student))
        return policy.divergence(of_teacher, of_student)
    if spec.algorithm == "td3":
        teacher, student = jnp.tanh(teacher), jnp.tanh(student)
    return 0.5 * jnp.sum(jnp.square(teacher - student), axis=-1)
