"""A rollout as PPO learns from it, whether its environments are inside the program or on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from evolute.learners.kit import acting, normalise
from evolute.learners.kit.normalise import Moments
from evolute.learners.ppo.settings import Traced
from evolute.learners.ppo.spec import PPOSpec
from evolute.learners.ppo.train_state import TrainState


class Rollout(NamedTuple):
    """The trajectories of one rollout, [time, env, …]; `value`, `reward` and `extra` are [time, env(, channel)].

    `follows` is 1 where the next row's value is that of the state after this one, so that it is bootstrapped from; `ends`
    is 1 where an episode ended; `extra` is the discounted value beyond a time limit where the next row does not hold it.
    `first` is 1 in the first step of an episode, `valid` 0 where an env was reset instead of stepped.

    Where an older policy may have acted (`PPOSpec.lagged`), `log_prob` of the actions was recorded then, and `log_ratio` is how
    much likelier they are by now; otherwise both are (), and the `outputs` say all.

    `discount` is that of each step, [time, env(, channel)], where steps take more or less time; () if it is always the same.
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
    log_prob: Any = ()
    log_ratio: Any = ()
    discount: Any = ()


def discounts(h: Traced) -> Any:
    """The discount of the reward, or those of its channels [channel]."""
    return h.discount if isinstance(h.channel_discounts, tuple) else h.channel_discounts


def discounts_over(elapsed: Any, per: float, h: Traced) -> Any:
    """The discounts of steps that took `elapsed` seconds [time, env], where settings are for `per` of them."""
    powers = elapsed / per
    return discounts(h) ** (powers if isinstance(h.channel_discounts, tuple) else powers[..., None])


def step_discounts(rollout: Rollout, h: Traced) -> Any:
    """The discount of each step of a rollout [time, env(, channel)], or if it is the same for all, that."""
    return discounts(h) if isinstance(rollout.discount, tuple) else rollout.discount


def per_channel(x: Any, rewards: Any) -> Any:
    """`x`, with an axis more if rewards, or values, have one for channels."""
    return x[..., None] if rewards.ndim > x.ndim else x


def normalised(
    spec: PPOSpec, train: TrainState, rollout: Rollout, discounted: jax.Array, h: Traced
) -> tuple[TrainState, Rollout, jax.Array]:
    """The rollout as it is learnt from, and the moments after it; `discounted` are the running returns [env(, channel)].

    Observations are scaled by what was known when they were acted upon, rewards by the returns up to now.
    """
    raw = rollout.obs.reshape((spec.batch, *rollout.obs.shape[2:]))
    if not spec.image:
        raw = raw.reshape((spec.batch, -1)).astype(jnp.float32)
    valid = rollout.valid.ravel()
    obs = train.obs if spec.image else _if(h.normalize_obs, lambda: normalise.updated(train.obs, raw, valid), train.obs)

    own = () if isinstance(rollout.discount, tuple) else (rollout.discount,)

    def along(running: jax.Array, now: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        reward, first, *own = now
        running = running * (own[0] if own else discounts(h)) * (1 - per_channel(first, running)) + reward
        return running, running

    def counted() -> tuple[Moments, jax.Array]:
        after, sums = jax.lax.scan(along, discounted, (rollout.reward, rollout.first, *own))
        return normalise.updated(train.returns, sums.reshape((spec.batch, *sums.shape[2:])), valid), after

    returns, discounted = _if(h.normalize_reward, counted, (train.returns, discounted))
    scale = jnp.where(h.normalize_reward > 0, jax.lax.rsqrt(returns.variance + normalise.TINY), 1.0) * h.reward_scale
    seen = acting.preprocessing(spec.policy, train.obs, h.normalize_obs)(raw)
    seen = seen.reshape((spec.unroll, spec.envs, *seen.shape[1:]))
    return train._replace(obs=obs, returns=returns), rollout._replace(obs=seen, reward=rollout.reward * scale), discounted


def _if(on: jax.Array, made: Callable[[], Any], kept: Any) -> Any:
    return jax.lax.cond(on > 0, made, lambda: kept)
