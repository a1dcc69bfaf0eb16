"""The JAX environments of gymnax: `gymnax:Breakout-MinAtar`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from evolute.core.names import closest
from evolute.envs.interface import Step
from evolute.envs.state_types import strongly_typed, typed_like

# Ids that mean the same in gymnax as in Gymnasium, which tests/envs/test_gymnax.py compares step by step.
SAME = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")


class gymnax:  # noqa: N801 - a plug-in is named as users write it
    """An env of gymnax. `options` are its parameters, such as `max_steps_in_episode`, which `time_limit` sets too."""

    def __init__(self, name: str, options: Mapping[str, Any], *, time_limit: int | None = None) -> None:
        if name not in ids():
            raise ValueError(f"gymnax has no environment {name!r}{closest(name, ids())}")
        self._env, params = _make(name)
        if time_limit is not None:
            options = {**options, "max_steps_in_episode": time_limit}
        unknown = [option for option in options if option not in vars(params)]
        if unknown:
            raise ValueError(f"gymnax:{name} has no parameter {unknown[0]!r}{closest(unknown[0], vars(params))}")
        self._params = params.replace(**options)
        self.observation_space = _space(self._env.observation_space(self._params))
        self.action_space = _space(self._env.action_space(self._params))

    def reset(self, key: jax.Array) -> tuple[Any, Any]:
        obs, state = self._env.reset_env(key, self._params)
        return strongly_typed(state), self._seen(obs)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        obs, after, reward, terminated, _ = self._env.step_env(key, state, action, self._params)
        after = typed_like(after, state)
        truncated = self._env.is_truncated(after, self._params)
        return Step(after, self._seen(obs), jnp.float32(reward), jnp.bool_(terminated), jnp.bool_(truncated))

    def _seen(self, obs: Any) -> Any:
        """The observation in the type that its space says, which a few envs do not keep to."""
        return (
            jnp.asarray(obs, self.observation_space.dtype) if isinstance(self.observation_space, gymnasium.spaces.Box) else obs
        )


@functools.cache
def load() -> ModuleType:
    """The library, or how to install it."""
    try:
        return importlib.import_module("gymnax")
    except ModuleNotFoundError as error:
        what = "six, which gymnax needs," if error.name == "six" else error.name
        raise ValueError(f"{what} is not installed; pip install 'evolute[gymnax]'") from error


def ids() -> tuple[str, ...]:
    """All ids that gymnax knows."""
    return tuple(load().registered_envs)


def _make(name: str) -> tuple[Any, Any]:
    try:
        env, params = load().make(name)
    except OSError as error:
        raise ValueError(f"gymnax:{name} downloads data when it is made, and could not ({error}); choose another") from error
    return env, params


def _space(space: Any) -> gymnasium.Space[Any]:
    spaces = load().environments.spaces
    match space:
        case spaces.Discrete():
            return gymnasium.spaces.Discrete(int(space.n))
        case spaces.Box():
            low, high = (np.broadcast_to(np.asarray(bound, space.dtype), space.shape) for bound in (space.low, space.high))
            return gymnasium.spaces.Box(low, high, dtype=low.dtype.type)
        case spaces.Dict():
            return gymnasium.spaces.Dict({name: _space(part) for name, part in space.spaces.items()})
        case spaces.Tuple():
            return gymnasium.spaces.Tuple([_space(part) for part in space.spaces])
    raise ValueError(f"a gymnax space of type {type(space).__name__}: only Discrete, Box, Dict and Tuple are understood")
