"""Observations that are stacked frames, of which a row of a replay buffer has only the newest.

The older ones are in the rows before, as far as the episode goes back; further back it is the episode's first frame again, as
`evolute.envs.interface.WithFrames` says. Where a turn's rows of an environment begin, maybe within an episode, the older frames
of its first observation lead them, in rows that are never drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Frames:
    """How many frames of what shape make an observation, side by side along the last axis, the newest last."""

    shape: tuple[int, ...]
    count: int = 1

    @classmethod
    def of_stack(cls, shape: tuple[int, ...], count: int) -> Frames:
        """The frames of observations of this shape."""
        return cls((*shape[:-1], shape[-1] // count), count)

    @property
    def leading(self) -> int:
        """How many rows lead those of an environment."""
        return self.count - 1

    @property
    def stack(self) -> tuple[int, ...]:
        """The shape of all frames of an observation."""
        return (*self.shape[:-1], self.shape[-1] * self.count)

    def newest(self, obs: Any) -> Any:
        """The newest frame of observations [..., *stack]."""
        return obs[..., -self.shape[-1] :]

    def older(self, obs: jax.Array) -> jax.Array:
        """The other frames [env, time, *shape] of observations [env, *stack], the oldest first."""
        return jnp.stack(jnp.split(obs, self.count, axis=-1)[:-1], axis=1)


WHOLE = Frames(())
"""Observations that are kept as they are."""
