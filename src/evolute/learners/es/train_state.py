"""What a member of evolution strategies has learnt, and its state on the host between turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from evolute.core.tree import Tree
from evolute.learners.es.spec import ESSpec
from evolute.learners.kit import adam, networks, normalise
from evolute.learners.kit.adam import AdamState
from evolute.learners.kit.evaluation import Player
from evolute.learners.kit.normalise import Moments


class TrainState(NamedTuple):
    """What is inherited, saved and exported: weights with Adam's moments, and the moments of observations."""

    adam: AdamState
    obs: Moments


@dataclass(frozen=True)
class MemberState:
    """One row of a cohort. `about` describes its policy."""

    train: TrainState
    about: Mapping[str, Any]

    @property
    def player(self) -> Player:
        return Player(self.train.adam.weights, self.train.obs, np.float32(self.about["normalize_obs"]))


def fresh(spec: ESSpec, rng: np.random.Generator) -> TrainState:
    """The train state of a new member."""
    network = spec.policy.network
    return TrainState(adam.init(networks.initial(network, rng)), normalise.fresh(() if spec.policy.image else network.obs))


def to_tree(state: MemberState) -> Tree:
    """The state as dicts of arrays."""
    return {"adam": state.train.adam._asdict(), "obs": state.train.obs._asdict(), "about": dict(state.about)}


def from_tree(tree: Tree) -> MemberState:
    """The state that `to_tree` gave."""
    return MemberState(TrainState(AdamState(**tree["adam"]), Moments(**tree["obs"])), tree["about"])
