"""The interfaces an environment can have: pure JAX functions inside the compiled program, or copies stepped on the host.

Those on the host move all together (`Vector`), or each at its own pace (`Pool`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import gymnasium
import numpy as np

if TYPE_CHECKING:
    import jax

Array = np.ndarray[Any, Any]


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
    """An env whose reward is made of several, each with a name."""

    @property
    def channels(self) -> tuple[str, ...]:
        """The names, the one that makes the score first; () if there is a single reward."""


def channels_of(env: object) -> tuple[str, ...]:
    """The names of an env's reward channels; () if it has a single reward."""
    return tuple(env.channels) if isinstance(env, WithChannels) else ()


@runtime_checkable
class WithTimeStep(Protocol):
    """An env whose steps always take the same time."""

    @property
    def dt(self) -> float | None:
        """Seconds of its own clock that a step takes; None if that is not known."""


def time_step_of(env: object) -> float | None:
    """The seconds that a step of an env takes; None if it does not say so, in its `dt`."""
    try:
        seconds = float(env.dt or 0) if isinstance(env, WithTimeStep) else 0.0
    except (TypeError, ValueError):  # somebody else's `dt`
        return None
    return seconds if 0 < seconds < float("inf") else None


@runtime_checkable
class WithFrames(Protocol):
    """An env whose observations are its last ones side by side, so that a learner need not keep each several times."""

    @property
    def stacked_frames(self) -> int:
        """How many there are along the last axis, the newest last; 1 if they are not stacked.

        A step moves them on by one, and a reset shows the first one as many times.
        """


def stacked_frames_of(env: object) -> int:
    """How many frames an env's observations are made of; 1 if it does not say so."""
    return env.stacked_frames if isinstance(env, WithFrames) else 1


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


class Moved(NamedTuple):
    """Rows that have moved, each at most once, in the order of their numbers: they wait for their next actions.

    `reward` [row] is what the row got since its last action, [row, channel] if there are channels. `elapsed` [row] is the time
    that passed since then, in seconds of the game's clock; a step of an environment without a clock takes 1. Where an episode
    has ended, `obs` is its last observation, and `results` has what the game tells of it. `legal` [row, action] says what may
    be done, None where everything always may.
    """

    rows: Array
    obs: Array
    reward: Array
    elapsed: Array
    terminated: Array
    truncated: Array
    results: Mapping[int, Mapping[str, float]]
    legal: Array | None = None


class Pool(Protocol):
    """Copies of an environment that move each at its own pace. A row is a copy, or a seat of a game.

    Seats of one game are neighbours, and one may not move before another was sent an action.

    Every row first moves to its first observation, without an action, a reward or time. As in a Vector, a row whose episode
    has ended is to be sent an action, too: it is not taken, and the row moves to the next episode's first observation.
    """

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def failures(self) -> Mapping[int, Exception]:
        """The rows that can no longer be played, and why: they move at once, their reward is NaN, their episode never ends."""

    def send(self, rows: Array, actions: Any) -> None:
        """Give actions [row, …] to rows that have moved; does not wait."""

    def recv(self, least: int = 1, patience: float | None = None) -> Moved:
        """Rows that have moved since the last call, as soon as there are `least` of them, or after `patience` seconds.

        Never waits for more rows than are on the move.
        """

    def close(self) -> None: ...


@runtime_checkable
class Separable(Protocol):
    """A HostEnv whose copies have nothing to do with one another, so that each can be stepped anywhere."""

    def row(self, seed: int) -> Vector:
        """One copy alone: its episodes are those that it would have among others."""


@runtime_checkable
class Paced(Protocol):
    """A HostEnv whose copies can move each at its own pace."""

    @property
    def repeatable(self) -> bool:
        """Whether episodes follow from seeds and actions alone, whatever the timing."""

    def pool(self, seeds: Sequence[Sequence[int]], *, whole: bool = True) -> Pool:
        """Rows for several members, seeded for their first episodes: `seeds` is [member, row].

        If a member's rows are too few for the seats of its last game, that is refused, unless games need not be `whole`.
        """


@runtime_checkable
class WithClock(Protocol):
    """A Paced env that has a clock, or none."""

    @property
    def has_clock(self) -> bool:
        """Whether `Moved.elapsed` are seconds."""


@runtime_checkable
class WithLegal(Protocol):
    """A HostEnv in which not every action is always legal."""

    @property
    def legal(self) -> bool:
        """Whether it says which are."""


@runtime_checkable
class WithSeats(Protocol):
    """A HostEnv whose rows are seats of games, so that a member has rows for whole games."""

    @property
    def seats_per_game(self) -> int:
        """How many rows are one game."""


def seats_per_game_of(env: object) -> int:
    """How many rows of an environment belong together; 1 if it is no game."""
    return env.seats_per_game if isinstance(env, WithSeats) else 1


@runtime_checkable
class Advises(Protocol):
    """A HostEnv for which a user has something to do."""

    def advice(self, games: int) -> Sequence[str]:
        """What a user should know before each member plays so many games at a time, a sentence each."""


@runtime_checkable
class HasHostEnv(Protocol):
    """What is no environment but can be used as one: a game that runs by itself (`evolute.games`)."""

    def host_env(self) -> HostEnv:
        """Itself as an environment for learners."""
