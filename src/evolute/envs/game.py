"""Games: environments with several seats, as pure JAX functions inside the compiled program.

In a simultaneous game every seat acts in every tick; in a turn-based one a single seat does, and the view says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

import gymnasium

if TYPE_CHECKING:
    import jax


class View(NamedTuple):
    """What those who act next see: observations [actor, …], their seats [actor], and which actions are legal [actor, action].

    `legal` is None in games where every action always is.
    """

    obs: jax.Array
    seat: jax.Array
    legal: jax.Array | None = None


class Tick(NamedTuple):
    """A game after one tick. `reward` is [seat], or [seat, channel] if the game has channels. The caller starts new games."""

    state: Any
    view: View
    reward: jax.Array
    terminated: jax.Array
    truncated: jax.Array


class Situation(NamedTuple):
    """What a bot is asked about: the game's state, the seat it acts for, what that seat sees, and which actions are legal."""

    state: Any
    seat: jax.Array
    obs: jax.Array
    legal: jax.Array | None


Bot = Callable[["jax.Array", Situation], "jax.Array"]
"""`bot(key, situation) -> action` of one seat."""


@runtime_checkable
class Game(Protocol):
    """One game as pure functions; `state` is a pytree of arrays. All seats have the same spaces."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]: ...

    @property
    def action_space(self) -> gymnasium.Space[Any]: ...

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of each seat; its length is the number of seats."""

    @property
    def actors(self) -> int:
        """How many act in a tick: all seats, or 1 in a turn-based game."""

    @property
    def zero_sum(self) -> bool:
        """Whether what one side wins the others lose."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Names of the rewards that come apart, the one that decides who wins first; () if there is a single reward."""

    @property
    def bots(self) -> Mapping[str, Bot]:
        """Players that come with the game. `random` is known to every game and not among them."""

    def reset(self, key: jax.Array) -> tuple[Any, View]:
        """A new game, and what those who act first see."""

    def step(self, key: jax.Array, state: Any, actions: jax.Array) -> Tick:
        """The game after actions [actor, …]."""


@runtime_checkable
class Readable(Protocol):
    """A game that a person can play in a terminal."""

    def moves(self, state: Any, seat: int) -> Mapping[str, int]:
        """The legal actions of a seat that is to act, by what they are called."""

    def text(self, state: Any, seat: int) -> str:
        """What a seat sees."""
