"""How a member acts: what it makes of observations, and the outputs of its policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp

from evolute.envs.flatten import FlatBox
from evolute.learners.kit import networks, normalise, torsos
from evolute.learners.kit.actions import Actions, Categories, Distribution, Gaussian, LegalCategories
from evolute.learners.kit.networks import Network
from evolute.learners.kit.normalise import Moments
from evolute.learners.kit.weights import Weights
from evolute.policy import Policy

FEW = 8
"""Up to this many environments, a CPU is faster with matrix-vector products."""


@dataclass(frozen=True)
class PolicySpec:
    """What acts, as far as a compiled program is made for it: the networks, and what the policy's outputs mean."""

    network: Network
    actions: Actions

    @property
    def image(self) -> bool:
        return len(self.network.obs) == 3

    @property
    def distribution(self) -> Distribution:
        """The actions of a policy that is one of probabilities."""
        assert isinstance(self.actions, Distribution)
        return self.actions


def preprocessing(spec: PolicySpec, moments: Moments, on: jax.Array) -> Callable[[jax.Array], jax.Array]:
    """What networks are shown of observations [batch, …]: images as they are, others flat and perhaps normalised."""
    if spec.image:
        return lambda obs: obs
    return lambda obs: normalise.standardised(moments, obs.reshape((obs.shape[0], -1)).astype(jnp.float32), on)


def outputs(spec: PolicySpec, weights: Weights, obs: jax.Array) -> jax.Array:
    """The policy's outputs without memory; of few environments one by one, so that the whole step becomes one function."""
    network = spec.network
    memory = jnp.zeros((len(obs), network.units))
    if len(obs) > FEW or not network.twin or jax.default_backend() != "cpu":
        return networks.policy(network, weights, obs, memory)[0]
    rows: jax.Array = jax.lax.map(lambda one: networks.policy(network, weights, one[None], memory[:1])[0][0], obs)
    return rows


@cache
def description(spec: PolicySpec) -> dict[str, Any]:
    """What an exported policy is made of, besides its weights, as plain values."""
    network = _lists(asdict(spec.network))
    for name, usual in (("channels", 0), ("critic", True), ("spectral", False)):
        if network[name] == usual:
            del network[name]  # as in states from before there were others
    return {
        "network": network,
        "actions": _described_actions(spec.distribution),
        "strides": torsos.strides(spec.network.torso),
    }


def _described_actions(actions: Distribution) -> dict[str, Any]:
    if isinstance(actions, LegalCategories):
        return {**_described_actions(actions.choice), "legal": True}
    return {"kind": type(actions).__name__.lower(), **_lists(asdict(actions))}


def exported(arrays: Mapping[str, Any], about: Mapping[str, Any], moments: Moments, observations: Any = None) -> Policy:
    """A policy in numpy alone, from named arrays, a description, and the space of observations."""
    torso = networks.SHARED if about["network"]["shared"] else networks.ACTOR
    if isinstance(observations, FlatBox):
        about = {**about, "observation": observations.layout}
    return Policy(arrays, {**about, "torso": torso, "head": networks.POLICY}, moments.mean, moments.variance)


def described_network(description: Mapping[str, Any]) -> Network:
    """The network in a description."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in description["network"].items()
    }
    return Network(**fields)


def described_actions(description: Mapping[str, Any]) -> Distribution:
    """The actions in a description."""
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in description["actions"].items()
    }
    kind, legal = fields.pop("kind"), fields.pop("legal", False)
    if kind == "gaussian":
        return Gaussian(**fields)
    return LegalCategories(Categories(**fields)) if legal else Categories(**fields)


def _lists(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
