"""Generalised advantage estimation (Schulman et al. 2016)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from evolute.learners.ppo.rollout import Rollout, per_channel, step_discounts
from evolute.learners.ppo.settings import Traced


def advantages(rollout: Rollout, last_value: jax.Array, h: Traced) -> jax.Array:
    """The advantages of a rollout's actions [time, env(, channel)], those of each reward channel with its own discount.

    `last_value` is that of the observations after it [env(, channel)].
    """
    discount = step_discounts(rollout, h)
    following = jnp.concatenate([rollout.value[1:], last_value[None]])
    delta = rollout.reward + rollout.extra + discount * following * per_channel(rollout.follows, following) - rollout.value
    decay = discount * h.gae_lambda * (1 - per_channel(rollout.ends, following))

    def backward(after: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        here = now[0] + now[1] * after
        return here, here

    return jax.lax.scan(backward, jnp.zeros_like(last_value), (delta, decay), reverse=True, unroll=8)[1]
