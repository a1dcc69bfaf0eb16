"""A teacher of an off-policy member: what it makes of a minibatch, and how far the student is from that.

A student learns by itself as well, from its own rows and, if buffers are inherited, from its teacher's. SAC's students follow
the teacher's distribution and TD3's its actions. DQN's follow which actions it prefers and by how much, not its values: to
reach their level takes a fresh network much longer, and they depend on discount and reward scale.
"""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, networks
from evolute.learners.kit.teaching import TeacherInputs
from evolute.learners.offpolicy.spec import ReplaySpec
from evolute.learners.offpolicy.train_state import MemberState

EPS = 1e-6


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
    """How far a student's outputs are from the teacher's, both [row, output]: of each row, a divergence or squared distance.

    Values make a softmax policy whose temperature is the teacher's mean difference between its best and worst action.
    """
    if spec.algorithm == "td3":
        return 0.5 * jnp.sum(jnp.square(jnp.tanh(teacher) - jnp.tanh(student)), axis=-1)
    policy, temperature = spec.policy.distribution, jnp.ones(())
    if spec.algorithm == "dqn":
        temperature = jnp.mean(jnp.max(teacher, axis=-1) - jnp.min(teacher, axis=-1)) + EPS
    of_teacher, of_student = (policy.parameters({}, one.T / temperature, one.T) for one in (teacher, student))
    return temperature * policy.divergence(of_teacher, of_student)
