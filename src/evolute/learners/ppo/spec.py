"""What is fixed in one compiled program of PPO: the policy, and the shape of a rollout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import gymnasium

from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import Distribution, actions_of
from evolute.learners.kit.networks import Network
from evolute.learners.kit.torsos import Kind
from evolute.learners.ppo.settings import OnPolicySettings

Estimate = Literal["gae", "vtrace", "returns"]
Objective = Literal["clip", "gradient"]


@dataclass(frozen=True)
class TeacherSpec:
    """What is fixed in a program of a teacher, and how much distances to its policy and to its values weigh."""

    policy: PolicySpec
    policy_weight: float
    value_weight: float


@dataclass(frozen=True)
class PPOSpec:
    """The static part of PPO: members who agree in it train together. `masked`: some steps of a rollout may be void."""

    policy: PolicySpec
    envs: int
    unroll: int
    minibatches: int
    masked: bool
    game: bool = False
    """Whether it takes a seat in a game."""
    channels: tuple[str, ...] = ()
    """The reward channels that it learns from, the one that makes the score first; () if there is a single reward."""
    augmented: bool = False
    """Whether policy and value are held to their predictions for the original when images are augmented (DrAC)."""
    teacher: TeacherSpec | None = None
    """Whom it imitates while it learns."""
    native: bool = False
    """Whether minibatches go through machine code of our own."""
    estimate: Estimate = "gae"
    """What advantages and targets of the value are estimated by."""
    objective: Objective = "clip"
    """What the policy's loss is: PPO's clipped ratio, or the policy gradient."""
    lagged: bool = False
    """Whether rollouts may be an older policy's: then log-probabilities are those recorded when it acted."""
    discount_per: float | None = None
    """The seconds that discounts are for, where each step says how long it took; None: a step, however long."""

    @property
    def network(self) -> Network:
        return self.policy.network

    @property
    def actions(self) -> Distribution:
        return self.policy.distribution

    @property
    def image(self) -> bool:
        return self.policy.image

    @property
    def batch(self) -> int:
        """Steps in one rollout."""
        return self.envs * self.unroll


def spec_of(
    observations: gymnasium.Space[Any],
    space: gymnasium.Space[Any],
    hparams: Mapping[str, Any],
    *,
    masked: bool,
    legal: bool = False,
    channels: tuple[str, ...] = (),
    section: str = "ppo",
) -> PPOSpec:
    """The spec for an environment under these settings, without machine code; raises ValueError where they do not fit.

    `section` is where users find them.
    """
    envs, unroll, minibatches = hparams["envs"], hparams["unroll"], hparams["minibatches"]
    whole = envs if hparams["memory"] else envs * unroll
    if whole % minibatches:
        what = (
            f"{envs} envs (with memory, minibatches are made of whole envs)"
            if hparams["memory"]
            else f"{envs} x {unroll} steps"
        )
        raise ValueError(f"{section}.minibatches={minibatches}: {what} cannot be cut into that many equal parts")
    actions = actions_of(space, std=hparams["std"], squash=hparams["squash"], legal=legal)
    network = replace(_network(observations, actions, hparams, section), channels=len(channels))
    augmented = hparams["augmentation"] != "none"
    if augmented:
        _check_augmented(observations, network)
    return PPOSpec(PolicySpec(network, actions), envs, unroll, minibatches, masked, channels=channels, augmented=augmented)


def _check_augmented(observations: gymnasium.Space[Any], network: Network) -> None:
    shape = network.obs
    if len(shape) != 3 or shape[0] != shape[1] or shape[2] % 3 or network.memory:
        raise ValueError(
            "ppo.augmentation is for square colour images [side, side, 3] and networks for images without memory, and "
            f"observations are {observations}, the network {network.kind}, its memory {network.memory}"
        )


def _network(observations: gymnasium.Space[Any], actions: Distribution, hparams: Mapping[str, Any], section: str) -> Network:
    shape = tuple(observations.shape or ())
    asked = hparams["network"]
    kind: Kind = asked if asked != "auto" else "cnn" if len(shape) == 3 else "mlp"
    if kind != "mlp" and len(shape) != 3:
        raise ValueError(
            f"{section}.network={kind} is for images [height, width, channel], and observations are {observations}"
        )
    if kind == "mlp":
        shape = (math.prod(shape),)
    shared = hparams["shared"]
    if shared is None:
        shared = kind != "mlp" or hparams["memory"] > 0
    if hparams["memory"] and not shared:
        raise ValueError(
            f"{section}.shared=false does not go with {section}.memory: policy and value share the recurrent layer"
        )
    widths = _widths(hparams, section)
    return Network(
        shape,
        actions.outputs,
        actions.spread,
        kind,
        widths,
        hparams["activation"],
        hparams["memory"],
        shared,
        spectral=hparams["spectral"],
    )


def _widths(hparams: Mapping[str, Any], section: str) -> tuple[int, ...]:
    """The units of the dense layers: as a list says, or as many layers of one width."""
    widths, width, depth = tuple(hparams["widths"]), hparams["width"], hparams["depth"]
    if not width and not depth:
        return widths
    if widths != OnPolicySettings.widths:
        both = f"{section}.width and {section}.depth"
        raise ValueError(f"{section}.widths={list(widths)} does not go with {both}: set either, not both")
    return (width or widths[0],) * (depth or len(widths))
