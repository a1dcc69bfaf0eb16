"""A member on the host, between turns: its train state, its environments' states, and what its policy is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evolute.core.tree import Tree
from evolute.learners.kit import adam, networks, normalise
from evolute.learners.kit.adam import AdamState
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.jax_envs import EnvStates
from evolute.learners.kit.normalise import Moments
from evolute.learners.ppo.spec import PPOSpec


class TrainState(NamedTuple):
    """What is inherited, saved and exported: weights and Adam's moments, the normalisers' moments, and the env steps so far."""

    adam: AdamState
    obs: Moments
    returns: Moments
    steps: Any


@dataclass(frozen=True)
class MemberState:
    """One row of a cohort. `about` describes its policy; without `envs`, its environments start afresh."""

    train: TrainState
    envs: EnvStates | None
    about: Mapping[str, Any]

    @property
    def player(self) -> Player:
        return Player(self.train.adam.weights, self.train.obs, np.float32(self.about["normalize_obs"]))


def fresh(spec: PPOSpec, rng: np.random.Generator) -> TrainState:
    """The train state of a new member."""
    weights = networks.initial(spec.network, rng)
    moments = normalise.fresh(() if spec.image else spec.network.obs)
    returns = normalise.fresh((len(spec.channels),) if spec.channels else ())
    return TrainState(adam.init(weights), moments, returns, np.float32(0))


# Checkpoints keep the keys they were first written with, "learnt", "optimiser" and "worlds": so old runs can be read, and
# digests compared.


def to_tree(state: MemberState) -> Tree:
    """The state as dicts and lists of arrays."""
    train = state.train
    learnt = {
        "optimiser": train.adam._asdict(),
        "obs": train.obs._asdict(),
        "returns": train.returns._asdict(),
        "steps": train.steps,
    }
    return {"learnt": learnt, "worlds": None if state.envs is None else state.envs._asdict(), "about": dict(state.about)}


def from_tree(tree: Tree) -> MemberState:
    """The state that `to_tree` gave."""
    learnt, worlds = tree["learnt"], tree["worlds"]
    obs, returns = Moments(**learnt["obs"]), Moments(**learnt["returns"])
    train = TrainState(AdamState(**learnt["optimiser"]), obs, returns, learnt["steps"])
    return MemberState(train, None if worlds is None else EnvStates(**worlds), tree["about"])
