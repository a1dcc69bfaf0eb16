"""The last episodes of a turn, counted inside a compiled program."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np


class EpisodeStats(NamedTuple):
    """The last returns [episode(, channel)] and lengths, in a ring, and how many episodes ended."""

    returns: Any
    lengths: Any
    count: Any


def blank(ring: int, channels: int = 0) -> EpisodeStats:
    """Before a turn, on the host."""
    zeros = np.zeros(ring, np.float32)
    return EpisodeStats(np.zeros((ring, channels), np.float32) if channels else zeros, zeros, np.int32(0))


def updated(stats: EpisodeStats, ends: jax.Array, returned: jax.Array, length: jax.Array) -> EpisodeStats:
    """After a rollout; `returned` and `length` are those of running episodes at each step [time, env, …]."""
    ring = stats.returns.shape[0]
    ended = ends.ravel() > 0
    rank = jnp.cumsum(ended)
    total = rank[-1]
    place = jnp.where(ended & (rank > total - ring), (stats.count + rank - 1) % ring, ring)
    return EpisodeStats(
        stats.returns.at[place].set(returned.reshape((-1, *returned.shape[2:])), mode="drop"),
        stats.lengths.at[place].set(length.ravel(), mode="drop"),
        stats.count + total,
    )


def standard_error(stats: EpisodeStats) -> float | None:
    """The standard error of the mean return, of the first channel if there are several; None of less than two episodes."""
    kept = min(int(stats.count), len(stats.returns))
    return error_of_mean(stats.returns[:kept].reshape((kept, -1))[:, 0]) if kept else None


def error_of_mean(returns: Any) -> float | None:
    """The standard error of the mean of returns; None of less than two."""
    return None if len(returns) < 2 else float(np.std(returns, ddof=1) / np.sqrt(len(returns)))


def means(stats: EpisodeStats) -> tuple[list[float] | None, float | None]:
    """The mean return of the last episodes, one for each channel, and their mean length, if any ended."""
    kept = min(int(stats.count), len(stats.returns))
    if not kept:
        return None, None
    by_channel = stats.returns[:kept].reshape((kept, -1)).T
    return [float(np.mean(returns)) for returns in by_channel], float(np.mean(stats.lengths[:kept]))
