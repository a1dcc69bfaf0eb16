"""How members act while they collect: their policy with noise, or random actions.

These stand in for the distributions of `kit.actions` in rollouts. Continuous actions travel, and are stored, in -1 to 1. How
much to explore is not learnt: it lies behind the policy's weights, as the last two numbers of the vector that acts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit.actions import Categories, Gaussian
from evolute.learners.kit.weights import Weights

SPREAD = 2
"""How many numbers say how to explore: the share of random actions, and the deviation of the noise."""


@dataclass(frozen=True)
class ExploringBox:
    """Actions of a bounded Box: a squashed Gaussian's if the policy has one, else its own with noise."""

    base: Gaussian

    @property
    def outputs(self) -> int:
        return self.base.outputs

    @property
    def width(self) -> int:
        return self.base.width

    @property
    def noises(self) -> int:
        return 2 * self.width + 1

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Normal numbers, uniform ones in -1 to 1, and one that decides whether to act at random."""
        normal, uniform = jax.random.split(key)
        drawn = jax.random.uniform(uniform, (*shape, self.width + 1), minval=-1.0)
        return jnp.concatenate([jax.random.normal(normal, (*shape, self.width)), drawn], axis=-1)

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        share, deviation = weights["log_std"]
        normal, uniform, coin = noise[..., : self.width], noise[..., self.width : -1], noise[..., -1:]
        if self.base.std == "state":
            action = jnp.tanh(self.base.sample(weights, outputs, normal))
        else:
            action = jnp.clip(jnp.tanh(outputs) + deviation * normal, -1, 1)
        return jnp.where((coin + 1) / 2 < share, uniform, action)

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        return jnp.tanh(outputs[..., : self.width])

    def to_env(self, action: Any) -> Any:
        low, high = np.asarray(self.base.low, np.float32), np.asarray(self.base.high, np.float32)
        bounded = low + (action + 1) * 0.5 * (high - low)
        return bounded.reshape((*bounded.shape[:-1], *self.base.shape))


@dataclass(frozen=True)
class ExploringChoice:
    """One of several actions: the one of the highest value, or any (epsilon-greedy)."""

    base: Categories

    @property
    def outputs(self) -> int:
        return self.base.outputs

    @property
    def width(self) -> int:
        return 1

    @property
    def noises(self) -> int:
        return 2

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return jax.random.uniform(key, (*shape, self.noises))

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        any_one = jnp.minimum(jnp.floor(noise[..., 1:] * self.outputs), self.outputs - 1)
        return jnp.where(noise[..., :1] < weights["log_std"][0], any_one, self.mode(weights, outputs))

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        return self.base.mode(weights, outputs)

    def to_env(self, action: Any) -> Any:
        return self.base.to_env(action)


Exploring = ExploringBox | ExploringChoice


def log_prob(outputs: jax.Array, noise: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Squashed Gaussian actions [batch, action] from outputs and normal noise, and their log-probabilities [batch]."""
    mean, log_std = jnp.split(outputs, 2, axis=-1)
    log_std = jnp.clip(log_std, -20.0, 2.0)
    z = mean + jnp.exp(log_std) * noise
    normal = -0.5 * jnp.square(noise) - log_std - 0.5 * math.log(2 * math.pi)
    return jnp.tanh(z), jnp.sum(normal - 2 * (math.log(2) - z - jax.nn.softplus(-2 * z)), axis=-1)
