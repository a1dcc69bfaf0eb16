"""The two interfaces an environment can have: pure JAX functions inside the compiled program, or a Gymnasium vector env."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import gymnasium

if TYPE_CHECKING:
    import jax


class Step(NamedTuple):
    """The result of one step of a JAX env. An episode that ended is not reset: the caller does that.

    `reward` is a number, or [channel] if the env has channels.
    """

    state: Any
    obs: jax.Array
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array


@runtime_checkable
class JaxEnv(Protocol):
    """One environment as pure functions; `state` is a pytree of arrays. A caller that needs many maps over them."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]: ...

    @property
    def action_space(self) -> gymnasium.Space[Any]: ...

    def reset(self, key: jax.Array) -> tuple[Any, jax.Array]:
        """A fresh state and its observation."""

    def step(self, key: jax.Array, state: Any, action: jax.Array) -> Step:
        """The state after an action."""


@runtime_checkable
class WithChannels(Protocol):
    """A JAX env whose reward is made of several, each with a name."""

    @property
    def channels(self) -> tuple[str, ...]:
        """The names, the one that makes the score first; () if there is a single reward."""


def channels_of(env: JaxEnv) -> tuple[str, ...]:
    """The names of an env's reward channels; () if it has a single reward."""
    return tuple(env.channels) if isinstance(env, WithChannels) else ()


@runtime_checkable
class HostEnv(Protocol):
    """Makes Gymnasium vector envs that are stepped on the host.

    `vector` gives one env of `count` copies for each list of seeds. All copies that belong to one list use that list's
    seeds only, so that a member's episodes do not depend on who else is stepped.
    """

    @property
    def observation_space(self) -> gymnasium.Space[Any]: ...

    @property
    def action_space(self) -> gymnasium.Space[Any]: ...

    @property
    def time_limit(self) -> int | None:
        """The longest an episode can be, if that is known."""

    def vector(self, seeds: Sequence[Sequence[int]]) -> Vector:
        """Envs for several members, seeded for the first reset: `seeds` is [member, env]."""


class Vector(Protocol):
    """The envs of all members of a cohort, stepped together. Arrays are [member * env, …], next-step autoreset."""

    @property
    def failures(self) -> Mapping[int, Exception]:
        """The rows whose env raised, and what. From then on such a row's reward is NaN, and its episode never ends."""

    def reset(self) -> Any:
        """The first observations."""

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any]:
        """Observations, rewards, terminated, truncated. In the step after an episode's end the env resets instead."""

    def close(self) -> None: ...
