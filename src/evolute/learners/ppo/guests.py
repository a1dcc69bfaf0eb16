"""Guests: states of other runs and exported policies that PPO's members can play against."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evolute.core.tree import Tree
from evolute.learners.kit import acting, adam, networks, normalise
from evolute.learners.kit.normalise import Moments
from evolute.learners.ppo.train_state import MemberState, TrainState, to_tree
from evolute.policy import load

DESCRIBED = ("network", "actions", "strides")
"""What of a description makes a policy, besides its weights; files of policies say more."""


def check_guest(tree: Tree, here: Mapping[str, Any]) -> None:
    """Raise ValueError if a state cannot play where policies have this description."""
    about = tree.get("about") if isinstance(tree, dict) else None
    if not isinstance(about, dict):
        raise ValueError("it is not a state of ppo")
    theirs, ours = about["network"], here["network"]
    if (theirs["obs"], about["actions"]) != (ours["obs"], here["actions"]):
        raise ValueError(f"it plays another game: such players see {_spaces(about)}, and members here see {_spaces(here)}")
    if unlike := [name for name in ours if name != "channels" and theirs.get(name) != ours[name]]:
        name = unlike[0]
        raise ValueError(f"its network is another one: ppo.{name} is {theirs.get(name)} there and {ours[name]} here")


def guest_from(policy: bytes) -> Tree:
    """The state that plays as an exported policy does; raises ValueError if the file is not whole, or another learner's."""
    try:
        made = load(io.BytesIO(policy))
    except Exception as error:
        raise ValueError("it is not a whole file of a policy that Evolute exported") from error
    about = {name: made.about[name] for name in DESCRIBED if name in made.about}
    parts = networks.parts(acting.described_network(about))
    if any(part.name not in made.arrays or made.arrays[part.name].shape != part.shape for part in parts):
        raise ValueError("it is not a policy of ppo")
    weights = np.concatenate([made.arrays[part.name].ravel() for part in parts]).astype(np.float32)
    moments = Moments(made.mean, made.variance, np.float32(1))
    train = TrainState(adam.init(weights), moments, normalise.fresh(()), np.float32(0))
    return to_tree(MemberState(train, None, {**about, "normalize_obs": bool(made.about["normalize_obs"])}))


def _spaces(about: Mapping[str, Any]) -> str:
    """What a policy sees and does, in words."""
    actions, obs = about["actions"], "x".join(map(str, about["network"]["obs"]))
    if "sizes" not in actions:
        return f"{obs} numbers and give {math.prod(actions['shape'])} numbers"
    legal = ", not all of them always legal" if actions.get("legal") else ""
    return f"{obs} numbers and choose one of {' x '.join(map(str, actions['sizes']))}{legal}"
