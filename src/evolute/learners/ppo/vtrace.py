"""V-trace (Espeholt et al. 2018, section 4.1): values and advantages for rollouts that an older policy has made.

A step counts by how much likelier it is now than when it was made, at most `rho_bar`; errors of later steps pass through it by
the same ratio, at most `c_bar`. `gae_lambda` shortens these traces (remark 2 of the paper); 1 leaves them as they are. With
actions of the policy itself, and both limits at 1, all of it is generalised advantage estimation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from evolute.learners.ppo.rollout import Rollout, per_channel, step_discounts
from evolute.learners.ppo.settings import CriticSettings, Traced


def idle(estimate: str, examples: Sequence[Mapping[str, Any]], section: str) -> list[str]:
    """Warnings of limits that do nothing, where nothing is corrected."""
    limits = {name: getattr(CriticSettings, name) for name in ("rho_bar", "c_bar")} if estimate != "vtrace" else {}
    return [
        f"{section}.{name} does nothing without V-trace: set {section}.correct=vtrace"
        for name, default in limits.items()
        if any(hparams.get(name, default) != default for hparams in examples)
    ]


def corrected(rollout: Rollout, last_value: jax.Array, h: Traced) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Advantages and targets of the value [time, env(, channel)], and the weights of the steps [time, env].

    `last_value` is that of the observations after the rollout [env(, channel)].
    """
    ratio = jnp.ones_like(rollout.ends) if isinstance(rollout.log_ratio, tuple) else jnp.exp(rollout.log_ratio)
    weight, trace = jnp.minimum(h.rho_bar, ratio), h.gae_lambda * jnp.minimum(h.c_bar, ratio)
    discount = step_discounts(rollout, h)
    following = jnp.concatenate([rollout.value[1:], last_value[None]])
    delta = rollout.reward + rollout.extra + discount * following * per_channel(rollout.follows, following) - rollout.value
    onward = discount * (1 - per_channel(rollout.ends, following))
    weights, traces = per_channel(weight, following), per_channel(trace, following)

    def backward(after: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        """`after` is by how much the next target differs from the next value."""
        delta, onward, weight, trace = now
        beyond = onward * after
        error = weight * delta + trace * beyond
        return error, (delta + h.gae_lambda * beyond, error)

    steps = (delta, onward, weights, traces)
    _, (advantage, error) = jax.lax.scan(backward, jnp.zeros_like(last_value), steps, reverse=True, unroll=8)
    return advantage, rollout.value + error, weight
