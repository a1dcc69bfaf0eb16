"""Returns to the end of an episode (Williams 1992): what a policy gradient without a critic learns from."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from evolute.learners.ppo.rollout import Rollout, discounts, per_channel
from evolute.learners.ppo.settings import Traced

Pair = tuple[jax.Array, jax.Array]


def advantages(rollout: Rollout, h: Traced) -> tuple[jax.Array, jax.Array]:
    """Discounted returns minus their mean [time, env(, channel)], and where they are known [time, env].

    They are known where the episode ends within the rollout; the mean is over those alone.
    """
    own = () if isinstance(rollout.discount, tuple) else (rollout.discount,)

    def backward(after: Pair, now: tuple[jax.Array, ...]) -> tuple[Pair, Pair]:
        reward, ends, *own = now
        here = reward + (own[0] if own else discounts(h)) * (1 - per_channel(ends, reward)) * after[0]
        known = jnp.maximum(ends, after[1])
        return (here, known), (here, known)

    blank = jnp.zeros_like(rollout.reward[0]), jnp.zeros_like(rollout.ends[0])
    _, (returns, known) = jax.lax.scan(backward, blank, (rollout.reward, rollout.ends, *own), reverse=True, unroll=8)
    counted = per_channel(known * rollout.valid, returns)
    mean = jnp.sum(returns * counted, axis=(0, 1)) / jnp.maximum(jnp.sum(counted, axis=(0, 1)), 1)
    return returns - mean, known
