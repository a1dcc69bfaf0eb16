"""What a policy's outputs mean: distributions over discrete, multi-discrete and continuous actions.

An action travels through the program as a row of numbers [batch, action]: class indices, or the Gaussian's sample before
it is squashed or clipped. `to_env` makes of it what the environment takes. What is learnt from lies the other way round,
[output, …] and [action, …], since long rows are the faster ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.learners.kit.weights import Weights

LOG_STD = (-20.0, 2.0)
ILLEGAL = -1e9
"""The logit of an illegal action."""


class Actions(Protocol):
    """How to act on a policy's outputs."""

    @property
    def outputs(self) -> int:
        """How many numbers the policy gives for an action."""

    @property
    def width(self) -> int:
        """How many numbers an action is."""

    @property
    def noises(self) -> int:
        """How many random numbers an action takes."""

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        """Randomness for actions [*shape, noise], drawn for a whole rollout at once."""

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        """Actions [batch, action] drawn under outputs [batch, output]."""

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        """The likeliest actions."""

    def to_env(self, action: Any) -> Any:
        """What the environment takes, from numpy's or JAX's rows."""


@dataclass(frozen=True)
class Categories:
    """One choice, or several independent ones: `sizes` are the numbers of classes, `starts` the env's name for the first."""

    sizes: tuple[int, ...]
    starts: tuple[int, ...]
    single: bool

    @property
    def outputs(self) -> int:
        return sum(self.sizes)

    @property
    def spread(self) -> int:
        return 0

    @property
    def width(self) -> int:
        return len(self.sizes)

    @property
    def noises(self) -> int:
        return self.outputs

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return jax.random.gumbel(key, (*shape, self.noises))

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        chosen = [jnp.argmax(part, axis=-1) for part in self._split(outputs + noise)]
        return jnp.stack(chosen, axis=-1).astype(jnp.float32)

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        return self.sample(weights, outputs, jnp.zeros_like(outputs))

    def log_prob_and_entropy(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of actions [action, …] under outputs [output, …]."""
        log_prob, entropy = jnp.zeros(outputs.shape[1:]), jnp.zeros(outputs.shape[1:])
        for place, logits in enumerate(self._split(outputs, axis=0)):
            logs = jax.nn.log_softmax(logits, axis=0)
            picked = _column(jnp.arange(len(logits)), logits) == action[place]
            log_prob += jnp.sum(jnp.where(picked, logs, 0.0), axis=0)
            entropy -= jnp.sum(jnp.exp(logs) * logs, axis=0)
        return log_prob, entropy

    def parameters(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> jax.Array:
        """What says all of the distributions [parameter, …] that actions [action, …] were drawn from."""
        return outputs

    def divergence(self, parameters: jax.Array, others: jax.Array) -> jax.Array:
        """How far the distributions of `others` are from those of `parameters` (Kullback-Leibler), both [parameter, …]."""
        total = jnp.zeros(parameters.shape[1:])
        for one, other in zip(self._split(parameters, axis=0), self._split(others, axis=0), strict=True):
            logs = jax.nn.log_softmax(one, axis=0)
            total += jnp.sum(jnp.exp(logs) * (logs - jax.nn.log_softmax(other, axis=0)), axis=0)
        return total

    def to_env(self, action: Any) -> Any:
        whole = action.astype(np.int32) + np.array(self.starts, np.int32)
        return whole[..., 0] if self.single else whole

    def _split(self, outputs: jax.Array, axis: int = -1) -> list[jax.Array]:
        ends = np.cumsum(self.sizes)[:-1].tolist()
        return jnp.split(outputs, ends, axis=axis) if ends else [outputs]


@dataclass(frozen=True)
class Gaussian:
    """Continuous actions; `std` says whether the spread depends on the state, `squash` whether tanh bounds the sample."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...]
    std: Literal["constant", "state"] = "constant"
    squash: bool = False

    @property
    def outputs(self) -> int:
        return self.width * (2 if self.std == "state" else 1)

    @property
    def spread(self) -> int:
        return 0 if self.std == "state" else self.width

    @property
    def width(self) -> int:
        return math.prod(self.shape)

    @property
    def noises(self) -> int:
        return self.width

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return jax.random.normal(key, (*shape, self.noises))

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        mean, log_std = self._moments(weights, outputs)
        return mean + jnp.exp(log_std) * noise

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        return self._moments(weights, outputs)[0]

    def log_prob_and_entropy(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Of actions [action, …] under outputs [output, …].

        The entropy of a squashed action has no closed form: it is estimated with tanh's derivative at the mean.
        """
        mean, log_std = self._moments(weights, outputs, axis=0)
        normal = -0.5 * jnp.square((action - mean) * jnp.exp(-log_std)) - log_std - 0.5 * math.log(2 * math.pi)
        entropy = jnp.broadcast_to(log_std, mean.shape) + 0.5 * math.log(2 * math.pi * math.e)
        if self.squash:
            normal, entropy = normal - _log_derivative(action), entropy + _log_derivative(mean)
        return jnp.sum(normal, axis=0), jnp.sum(entropy, axis=0)

    def parameters(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> jax.Array:
        """Means and log-stds [parameter, …]; squashing changes both distributions of a divergence alike, and so not it."""
        mean, log_std = self._moments(weights, outputs, axis=0)
        return jnp.concatenate([mean, jnp.broadcast_to(log_std, mean.shape)])

    def divergence(self, parameters: jax.Array, others: jax.Array) -> jax.Array:
        """How far the distributions of `others` are from those of `parameters` (Kullback-Leibler), both [parameter, …]."""
        (mean, log_std), (other, other_log_std) = (jnp.split(one, 2) for one in (parameters, others))
        spread = jnp.exp(2 * (log_std - other_log_std)) + jnp.square((mean - other) * jnp.exp(-other_log_std))
        return jnp.sum(other_log_std - log_std + 0.5 * (spread - 1), axis=0)

    def to_env(self, action: Any) -> Any:
        low, high = np.asarray(self.low, np.float32), np.asarray(self.high, np.float32)
        if self.squash:
            tanh = jnp.tanh if isinstance(action, jax.Array) else np.tanh
            bounded = low + (tanh(action) + 1) * 0.5 * (high - low)
        else:
            bounded = action.clip(low, high)
        return bounded.reshape((*bounded.shape[:-1], *self.shape))

    def _moments(self, weights: Weights, outputs: jax.Array, axis: int = -1) -> tuple[jax.Array, jax.Array]:
        if self.std == "constant":
            log_std = weights["log_std"] if axis else _column(weights["log_std"], outputs)
            return outputs, jnp.clip(log_std, *LOG_STD)
        mean, log_std = jnp.split(outputs, 2, axis=axis)
        return mean, jnp.clip(log_std, *LOG_STD)


@dataclass(frozen=True)
class LegalCategories:
    """One choice of which not every class is always legal. What was legal travels along with an action, [choice, legal …]."""

    choice: Categories

    @property
    def outputs(self) -> int:
        return self.choice.outputs

    @property
    def spread(self) -> int:
        return 0

    @property
    def width(self) -> int:
        return 1 + self.outputs

    @property
    def noises(self) -> int:
        return self.choice.noises

    def noise(self, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
        return self.choice.noise(key, shape)

    def sample(self, weights: Weights, outputs: jax.Array, noise: jax.Array) -> jax.Array:
        """An action under outputs that were `masked`."""
        legal = (outputs > ILLEGAL).astype(jnp.float32)
        return jnp.concatenate([self.choice.sample(weights, outputs, noise), legal], axis=-1)

    def mode(self, weights: Weights, outputs: jax.Array) -> jax.Array:
        return self.sample(weights, outputs, jnp.zeros_like(outputs))

    def log_prob_and_entropy(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.choice.log_prob_and_entropy(weights, masked(outputs, action[1:]), action[:1])

    def parameters(self, weights: Weights, outputs: jax.Array, action: jax.Array) -> jax.Array:
        return masked(outputs, action[1:])

    def divergence(self, parameters: jax.Array, others: jax.Array) -> jax.Array:
        return self.choice.divergence(parameters, others)

    def to_env(self, action: Any) -> Any:
        return self.choice.to_env(action[..., :1])


Distribution = Categories | LegalCategories | Gaussian
"""Actions whose probabilities are known."""


def masked(outputs: jax.Array, legal: jax.Array | None) -> jax.Array:
    """Logits of which those of illegal actions are as good as minus infinity; None means that all are legal."""
    return outputs if legal is None else jnp.where(legal > 0, outputs, ILLEGAL)


def _column(vector: jax.Array, outputs: jax.Array) -> jax.Array:
    """A vector [output] that goes along with outputs [output, …]."""
    return vector.reshape((-1, *(1,) * (outputs.ndim - 1)))


def _log_derivative(x: jax.Array) -> jax.Array:
    """log(1 - tanh(x)^2), without loss far from zero."""
    return 2 * (math.log(2) - x - jax.nn.softplus(-2 * x))


def actions_of(
    space: gymnasium.Space[Any], *, std: Literal["constant", "state"], squash: bool, legal: bool = False
) -> Distribution:
    """How to act in a space; with `legal`, where only some actions may be allowed at a time."""
    if isinstance(space, gymnasium.spaces.Discrete):
        choice = Categories((int(space.n),), (int(space.start),), single=True)
        return LegalCategories(choice) if legal else choice
    if legal:
        raise ValueError(f"legal actions are those of a Discrete space, and this one is {space}")
    if isinstance(space, gymnasium.spaces.MultiDiscrete):
        sizes, starts = space.nvec.ravel().tolist(), space.start.ravel().tolist()
        return Categories(tuple(sizes), tuple(starts), single=False)
    if not isinstance(space, gymnasium.spaces.Box):
        raise ValueError(f"actions of {space} are not supported: use a Discrete, MultiDiscrete or Box space")
    low, high = space.low.ravel(), space.high.ravel()
    if squash and not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise ValueError(f"squash=true needs bounded actions, and the env's are {space}")
    return Gaussian(tuple(low.tolist()), tuple(high.tolist()), space.shape, std, squash)
