"""What is fixed in one compiled program of evolution strategies: the policy, and how many candidates play how often."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gymnasium

from evolute.learners.kit.acting import PolicySpec
from evolute.learners.kit.actions import actions_of
from evolute.learners.kit.networks import Network
from evolute.learners.kit.torsos import Kind


@dataclass(frozen=True)
class ESSpec:
    """The static part: members who agree in it train together."""

    policy: PolicySpec
    candidates: int
    episodes: int


def spec_of(observations: gymnasium.Space[Any], space: gymnasium.Space[Any], hparams: Mapping[str, Any]) -> ESSpec:
    """The spec for an environment under these settings; raises ValueError where they do not fit."""
    candidates = hparams["candidates"]
    if candidates % 2:
        raise ValueError(f"es.candidates={candidates}: must be even, since each perturbation is tried in both directions")
    actions = actions_of(space, std="constant", squash=False)
    shape, asked = tuple(observations.shape or ()), hparams["network"]
    kind: Kind = asked if asked != "auto" else "cnn" if len(shape) == 3 else "mlp"
    if kind != "mlp" and len(shape) != 3:
        raise ValueError(f"es.network={kind} is for images [height, width, channel], and observations are {observations}")
    seen = (math.prod(shape),) if kind == "mlp" else shape
    widths = tuple(hparams["widths"])
    network = Network(seen, actions.outputs, actions.spread, kind, widths, hparams["activation"], critic=False)
    return ESSpec(PolicySpec(network, actions), candidates, hparams["episodes"])
