"""Environments with Brax's interface, which MuJoCo Playground has too: a state that holds observation, reward and done."""

from __future__ import annotations

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.envs.interface import Step, time_step_of
from evolute.envs.state_types import strongly_typed, typed_like


class BraxStyle:
    """A JaxEnv around such an env. Actions are in [-1, 1]. Of a dictionary of observations, the policy's part is used."""

    def __init__(self, env: Any) -> None:
        self._env = env
        seen = _policy_part(jax.eval_shape(env.reset, jax.random.key(0)).obs)
        self.observation_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-np.inf, np.inf, seen.shape, seen.dtype)
        self.action_space: gymnasium.Space[Any] = gymnasium.spaces.Box(-1.0, 1.0, (env.action_size,))
        self.dt = time_step_of(env)

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        state = strongly_typed(self._env.reset(key))
        return state, _policy_part(state.obs)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        after = typed_like(self._env.step(state, action), state)
        return Step(after, _policy_part(after.obs), jnp.float32(after.reward), after.done > 0, jnp.bool_(False))


def _policy_part(obs: Any) -> Any:
    return obs["state"] if isinstance(obs, dict) else obs
