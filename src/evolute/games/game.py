"""What an author of a game writes: a `Game` with a coroutine `play`, in which `Seat`s are asked for actions.

class Pursuit(Game):
    seats, channels = ("hunter", "prey"), ("score", "effort")
    observation_space, action_space = Box(-3, 3, (2,)), Discrete(3)

    async def play(self, seats, seed):
        ...
        move = await seats["hunter"].act(obs)
        seats["hunter"].reward(score=1.0)
        return {"hunter": {"win": 1.0}}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium

if TYPE_CHECKING:
    from evolute.games.staged import StagedEnv

Results = Mapping[str, float] | Mapping[str, Mapping[str, float]] | None
"""What `play` returns: numbers by name, for all seats or by the name of a seat."""


class Seat(Protocol):
    """Where a policy acts in a game, for one episode. Whoever plays here, it looks the same to the game."""

    @property
    def name(self) -> str: ...

    @property
    def action(self) -> Any:
        """The newest answer; None before the first."""

    @property
    def thinking(self) -> bool:
        """Whether a question is open."""

    async def act(self, obs: Any, legal: Any = None, *, at: float | None = None) -> Any:
        """Ask for an action and wait for it. `legal` [action] says which may be taken; None: all.

        `at` is the game's time in seconds, in a game that has a clock of its own.
        """

    def ask(self, obs: Any, legal: Any = None, *, at: float | None = None) -> bool:
        """Ask for an action without waiting: it will be in `action`. False, and no more, while a question is open."""

    async def answer(self) -> Any:
        """The answer to the open question; the newest one if none is open."""

    def reward(self, *amount: float, **channels: float) -> None:
        """Add to the rewards of the last action: by channel, or one amount if the game has a single reward."""

    def end(self, obs: Any = None, *, truncated: bool = True, at: float | None = None) -> None:
        """This seat's episode is over, by a time limit unless `truncated` is False. `obs` is what it sees last."""


class Game:
    """A game that runs by itself. All seats have the same spaces; each episode is a call of `play`.

    A worker plays many copies at a time in one thread, so `play` must not block: it waits by `await`. The copies are shallow:
    what `play` assigns to `self` is a copy's own.
    """

    seats: Sequence[str] = ("player",)
    channels: Sequence[str] = ()
    """Names of the rewards that come apart, the one that makes the score first; () if there is a single reward."""
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    repeatable: bool = False
    """Whether an episode follows from its seed and the actions alone: no clock, no chance of its own."""
    legal: bool = False
    """Whether seats say which actions are legal."""
    clock: bool = False
    """Whether seats say the game's time. If not, it is measured, unless the game is repeatable."""
    stall: float = 60.0
    """Seconds without a question after which an episode has failed."""
    plays: Sequence[str] | None = None

    def __init__(self, *, plays: str | Sequence[str] | None = None) -> None:
        """`plays` are the seats that the member plays, by default all; a rule plays the others."""
        if plays is not None:
            self.plays = tuple(map(str, plays)) if isinstance(plays, list | tuple) else (str(plays),)

    async def play(self, seats: Mapping[str, Seat], seed: int) -> Results:
        """One episode. When it returns, the episodes of all seats have ended by the rules; its numbers become metrics."""
        raise NotImplementedError(f"{type(self).__name__} has no play(self, seats, seed)")

    def rule(self, name: str, obs: Any) -> Any:
        """The action of a seat that the member does not play; None is a random one."""
        return None

    def advice(self, games: int) -> Sequence[str]:
        """What a user should know before each member plays so many copies at a time, a sentence each."""
        return ()

    async def stalled(self) -> str | None:
        """Called when nobody was asked for `stall` seconds, before `play` is cancelled: why; None if it is not known."""
        return None

    def close(self) -> None:
        """Called once for each copy, when no more episodes are played."""

    def host_env(self) -> StagedEnv:
        """This game as an environment for learners."""
        from evolute.games.staged import StagedEnv

        return StagedEnv(self)
