"""Games on the host: environments with several seats that are Python objects, each stepped by itself.

Any number of seats may be to act at a time: all of them in a simultaneous game, one in a turn-based game, fewer as players
drop out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium
import numpy as np

Array = np.ndarray[Any, Any]


class Moment(NamedTuple):
    """Where a game stands. Nobody is `acting` when it is over.

    `obs` [seat, …] is what each seat saw last, `legal` [seat, action] what it may do, None if everything always is legal.
    `reward` [seat] is what each seat has got since the moment before: a turn-based game pays a seat when it is to act again,
    or when the game is over. `terminated` [seat] is set where a seat's game has ended by the rules, not by a time limit.
    """

    acting: Sequence[int]
    obs: Array
    legal: Array | None
    reward: Array
    terminated: Array


class GameCopy(Protocol):
    """One copy of a game, which is played again and again."""

    def reset(self, seed: int) -> Moment:
        """A new game, which follows from the seed."""

    def step(self, actions: Mapping[int, Any]) -> Moment:
        """The game after actions of all seats that were to act."""

    def close(self) -> None: ...


@runtime_checkable
class HostGame(Protocol):
    """A game whose seats all have the same spaces. Observations are vectors or images of numbers."""

    @property
    def observation_space(self) -> gymnasium.Space[Any]: ...

    @property
    def action_space(self) -> gymnasium.Space[Any]: ...

    @property
    def teams(self) -> tuple[int, ...]:
        """The team of each seat; its length is the number of seats."""

    @property
    def has_legal(self) -> bool:
        """Whether only some actions may be legal."""

    @property
    def zero_sum(self) -> bool | None:
        """Whether what one side wins the others lose; None if that is not known."""

    @property
    def bots(self) -> Sequence[str]:
        """Players that come with the game, besides `random`: there are none yet."""

    def copy(self) -> GameCopy:
        """Another copy of the game."""


class RenderedCopy(GameCopy, Protocol):
    """A copy that can be recorded."""

    def frame(self) -> Array:
        """The game as it is now, as an image [height, width, 3]. Raises ValueError if it has none."""


@runtime_checkable
class Rendered(Protocol):
    """A game on the host that can be recorded."""

    def rendered(self) -> RenderedCopy:
        """A copy to be recorded. Raises ValueError if this game makes none."""
