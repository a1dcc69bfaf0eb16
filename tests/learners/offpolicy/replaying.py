"""Shared by the tests of off-policy learners: learners with small networks, and what their members think of states."""

from __future__ import annotations

from functools import cache

import numpy as np

from evolute.core.order import Ref
from evolute.envs.spec import EnvSpec
from evolute.learners.kit import networks, weights
from evolute.learners.offpolicy.make import make
from evolute.learners.offpolicy.settings import SETTINGS

SMALL = {"envs": 2, "unroll": 4, "batch": 16, "widths": (8,), "warmup": 32, "ratio": 0.5, "capacity": 1000, "episodes": 5}


@cache
def learner(algorithm, env, **settings):
    """The same learner for the same settings, so that tests share compiled programs."""
    return make(algorithm, EnvSpec(env), SETTINGS[algorithm](**{"devices": 2, **settings}))


def state_of(made, worker, member=0, turn=0):
    return made.load(worker.dump(Ref(member, turn)))


def values(made, state, obs, action=0.0):
    """What a member thinks of observations [batch, feature]: of each action, or by its first critic of this one."""
    spec = made._spec(made._full({}))
    x = np.asarray(obs, np.float32).reshape(len(obs), -1)
    if spec.algorithm == "dqn":
        return _forward(networks.unpacked(state.network, state.policy_weights), "actor", "policy", x)
    x = np.concatenate([x, np.full((len(x), spec.exploring.width), action, np.float32)], axis=1)
    return _forward(weights.unpacked(spec.critic_parts, state.train.critic.weights), "q0", "q0/head", x)[:, 0]


def _forward(arrays, torso, head, x):
    place = 0
    while f"{torso}/dense{place}/w" in arrays:
        x = np.maximum(x @ arrays[f"{torso}/dense{place}/w"] + arrays[f"{torso}/dense{place}/b"], 0)
        place += 1
    return x @ arrays[f"{head}/w"] + arrays[f"{head}/b"]
