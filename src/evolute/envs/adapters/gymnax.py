"""The JAX environments of gymnax: `gymnax:Breakout-MinAtar`."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.interface import Step

if TYPE_CHECKING:
    import jax

LIBRARY = Library(("gymnax",), "gymnax", "gymnax:Breakout-MinAtar", "classic control, MinAtar and more, in JAX")
# Ids that mean the same in gymnax as in Gymnasium; tests/envs/test_gymnax.py compares them step by step.
SAME = ("Acrobot-v1", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1")


class GymnaxEnv:
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
        from evolute.envs.state_types import strongly_typed

        obs, state = self._env.reset_env(key, self._params)
        return strongly_typed(state), self._seen(obs)

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        import jax.numpy as jnp

        from evolute.envs.state_types import typed_like

        obs, after, reward, terminated, _ = self._env.step_env(key, state, action, self._params)
        after = typed_like(after, state)
        truncated = self._env.is_truncated(after, self._params)
        return Step(after, self._seen(obs), jnp.float32(reward), jnp.bool_(terminated), jnp.bool_(truncated))

    def _seen(self, obs: Any) -> Any:
        """The observation in the type of its space, which a few envs do not keep to."""
        import jax.numpy as jnp

        space = self.observation_space
        return jnp.asarray(obs, space.dtype) if isinstance(space, gymnasium.spaces.Box) else obs


def load() -> ModuleType:
    """The library."""
    return LIBRARY.load("gymnax")


def ids() -> tuple[str, ...]:
    """All ids that gymnax knows."""
    return tuple(load().registered_envs)


def _make(name: str) -> tuple[Any, Any]:
    try:
        env, params = load().make(name)
    except OSError as error:
        raise ValueError(f"gymnax:{name} downloads data when it is made, and that failed ({error}); choose another") from error
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


gymnax = Adapter(
    library=LIBRARY,
    ids=ids,
    jax=GymnaxEnv,
    has_gymnasium_id=lambda name: name in SAME,
    priority=3,
    only_here=r"-(MinAtar|bsuite|misc)$",
)
