"""What is fixed in one compiled program: the networks, what their outputs mean, and the shape of a rollout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from evolute.learners.kit import networks, normal
from evolute.learners.kit.actions import Actions, actions_of
from evolute.learners.kit.networks import Kind, Network


@dataclass(frozen=True)
class Model:
    """The static part of PPO: members who agree in it train together. `masked`: some steps of a rollout may be void."""

    network: Network
    actions: Actions
    envs: int
    unroll: int
    minibatches: int
    masked: bool
    augmented: bool = False
    """Whether policy and value are held to what they say of the original when images are augmented (DrAC)."""

    @property
    def batch(self) -> int:
        """Steps in one rollout."""
        return self.envs * self.unroll

    @property
    def image(self) -> bool:
        return len(self.network.obs) == 3


class Optimiser(NamedTuple):
    """A member's weights and Adam's moments, each one vector, and how many steps Adam has made."""

    weights: Any
    mean: Any
    square: Any
    count: Any


class Learnt(NamedTuple):
    """What a member has learnt: this is inherited, saved and exported. `steps` are its environment steps so far."""

    optimiser: Optimiser
    obs: normal.Moments
    returns: normal.Moments
    steps: Any


class Rollout(NamedTuple):
    """What was lived through, [time, env, …].

    `follows` is 1 where the next row's value is that of the state after this one, so that it is bootstrapped from; `ends`
    is 1 where an episode ended; `extra` is the discounted value beyond a time limit where the next row does not hold it.
    `first` is 1 in the first step of an episode, `valid` 0 where an env was reset instead of stepped.
    """

    obs: Any
    action: Any
    outputs: Any
    value: Any
    reward: Any
    extra: Any
    follows: Any
    ends: Any
    first: Any
    valid: Any


def model_of(
    observations: gymnasium.Space[Any], space: gymnasium.Space[Any], hparams: Mapping[str, Any], *, masked: bool
) -> Model:
    """The model for an environment under these settings; raises ValueError where they do not fit together."""
    envs, unroll, minibatches = hparams["envs"], hparams["unroll"], hparams["minibatches"]
    whole = envs if hparams["memory"] else envs * unroll
    if whole % minibatches:
        what = (
            f"{envs} envs (with memory, minibatches are made of whole envs)"
            if hparams["memory"]
            else f"{envs} x {unroll} steps"
        )
        raise ValueError(f"ppo.minibatches={minibatches}: {what} cannot be cut into that many equal parts")
    actions = actions_of(space, std=hparams["std"], squash=hparams["squash"])
    network = _network(observations, actions, hparams)
    augmented = hparams["augmentation"] != "none"
    if augmented:
        _check_augmented(observations, network)
    return Model(network, actions, envs, unroll, minibatches, masked, augmented)


def _check_augmented(observations: gymnasium.Space[Any], network: Network) -> None:
    shape = network.obs
    if len(shape) != 3 or shape[0] != shape[1] or shape[2] % 3 or network.memory:
        raise ValueError(
            "ppo.augmentation is for square colour images [side, side, 3] and networks for images without memory, and "
            f"observations are {observations}, the network {network.kind}, its memory {network.memory}"
        )


def _network(observations: gymnasium.Space[Any], actions: Actions, hparams: Mapping[str, Any]) -> Network:
    shape = tuple(observations.shape or ())
    asked = hparams["network"]
    kind: Kind = asked if asked != "auto" else "cnn" if len(shape) == 3 else "mlp"
    if kind != "mlp" and len(shape) != 3:
        raise ValueError(f"ppo.network={kind} is for images [height, width, channel], and observations are {observations}")
    if kind == "mlp":
        shape = (math.prod(shape),)
    shared = hparams["shared"]
    if shared is None:
        shared = kind != "mlp" or hparams["memory"] > 0
    if hparams["memory"] and not shared:
        raise ValueError("ppo.shared=false does not go with ppo.memory: policy and value share the recurrent layer")
    widths = tuple(hparams["widths"])
    return Network(shape, actions.outputs, actions.spread, kind, widths, hparams["activation"], hparams["memory"], shared)


def fresh(model: Model, rng: np.random.Generator) -> Learnt:
    """A member that has learnt nothing yet."""
    weights = networks.initial(model.network, rng)
    optimiser = Optimiser(weights, np.zeros_like(weights), np.zeros_like(weights), np.int32(0))
    return Learnt(optimiser, normal.fresh(() if model.image else model.network.obs), normal.fresh(()), np.float32(0))
