"""The seats of one episode, as the game sees them: those that the member plays, and those that a rule plays."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.flatten import flat_space, flatten, mismatch
from evolute.games.game import Game
from evolute.games.rows import Array, Move, Row


class Format:
    """How what a game says becomes numbers; raises ValueError where it is not what the game has announced."""

    def __init__(self, game: Game) -> None:
        self.space, self.actions, self.channels = game.observation_space, game.action_space, tuple(game.channels)
        self.has_legal, self.has_clock = game.legal, game.clock
        self.is_timed = game.clock or not game.repeatable
        self.box = flat_space(self.space)
        self.choices = int(self.actions.n) if isinstance(self.actions, gymnasium.spaces.Discrete) else None

    def obs(self, obs: Any) -> Array:
        """A copy of an observation, flat."""
        if wrong := mismatch(self.space, obs):
            raise ValueError(f"an observation is not of the game's observation_space: {wrong}")
        return np.array(flatten(self.space, obs, np), self.box.dtype).reshape(self.box.shape)

    def legal(self, legal: Any) -> Array | None:
        """Which actions are legal; None if all are."""
        if legal is None:
            return None
        if not self.has_legal:
            raise ValueError("legal actions were given, but the game has legal = False: set legal = True in it")
        if self.choices is None:
            raise ValueError("legal is given, and only Discrete actions can be illegal")
        mask = np.array(legal, bool)
        if mask.shape != (self.choices,) or not mask.any():
            raise ValueError(f"legal is {legal!r}: it needs {self.choices} numbers, at least one of which is not 0")
        return mask

    def time(self, at: Any, before: float) -> float:
        """The time now, which was `before` when it was last looked at: the game's own if it has a clock."""
        if not self.has_clock:
            if at is not None:
                raise ValueError("the time was given, but the game has clock = False: set clock = True in it")
            return time.monotonic()
        if isinstance(at, bool) or not isinstance(at, int | float | np.number) or not math.isfinite(at):
            raise ValueError(f"at={at!r}: a game with clock = True says its time in seconds whenever it asks")
        if at < before:
            raise ValueError(f"at={at:g}: the time was {before:g} before, and does not go backwards within an episode")
        return float(at)

    def zero(self) -> Array:
        """No reward."""
        return np.zeros(max(1, len(self.channels)))

    def reward(self, amounts: Sequence[float], channels: Mapping[str, float]) -> Array:
        """A reward by channel; a game without channels has one."""
        gained = self.zero()
        if amounts and (self.channels or channels or len(amounts) > 1):
            raise ValueError(f"a reward of {amounts}, {dict(channels)}: give {self._wanted()}")
        for amount in amounts:
            gained[0] = amount
        for name, amount in channels.items():
            if name not in self.channels:
                raise ValueError(f"a reward in {name!r}: there is no such channel{closest(name, self.channels) or ''}")
            gained[self.channels.index(name)] = amount
        if not np.isfinite(gained).all():
            raise ValueError(f"a reward of {[*amounts, *channels.items()]}, which is not a finite number")
        return gained

    def _wanted(self) -> str:
        return (
            f"amounts by channel ({', '.join(self.channels)})" if self.channels else "one amount, since there are no channels"
        )


class PlayedSeat:
    """A seat that the member plays. `noticed` is called whenever the game shows that it is alive."""

    def __init__(self, name: str, row: Row, form: Format, noticed: Callable[[], None], *, waits: bool) -> None:
        self.name, self.action = name, None
        self.asked = self.late = 0
        self._row, self._form, self._noticed, self._waits = row, form, noticed, waits
        self._gained, self._obs = form.zero(), np.zeros(form.box.shape, form.box.dtype)
        self._since, self._now = math.nan, -math.inf
        """The time of the last move, and the newest that is known."""
        self._waiting: asyncio.Future[Any] | None = None
        self._end: Move | None = None
        self._closed = False

    @property
    def thinking(self) -> bool:
        return self._waiting is not None

    async def act(self, obs: Any, legal: Any = None, *, at: float | None = None) -> Any:
        while self.thinking:
            await self.answer()
        if not self.ask(obs, legal, at=at):
            raise RuntimeError(f"{self.name} is asked for an action after its end")
        return await self.answer()

    async def answer(self) -> Any:
        return self.action if self._waiting is None else await asyncio.shield(self._waiting)

    def ask(self, obs: Any, legal: Any = None, *, at: float | None = None) -> bool:
        self._check_open()
        self._noticed()
        if self._end is not None:
            return False
        self.asked += 1
        self._now = self._form.time(at, self._now)
        if self._waiting is not None:
            self.late += 1
            if self._row.holds(self._answered):  # the learner still has to begin this episode: it shall not begin with old news
                self._since = math.nan
                self._show(obs, legal)
            return False
        self._waiting = asyncio.get_running_loop().create_future()
        self._show(obs, legal)
        return True

    def reward(self, *amount: float, **channels: float) -> None:
        self._check_open()
        if self._end is None:
            self._gained += self._form.reward(amount, channels)

    def end(self, obs: Any = None, *, truncated: bool = True, at: float | None = None) -> None:
        self._check_open()
        if self._end is None:
            if at is not None:
                self._now = self._form.time(at, self._now)
            if obs is not None:
                self._obs = self._form.obs(obs)
            self._end = self._move(terminated=not truncated, truncated=truncated)

    def close(self, results: Mapping[str, float], *, truncated: bool = False) -> None:
        """The episode is over, for all seats."""
        if self._end is None:
            self._end = self._move(terminated=not truncated, truncated=truncated)
        late = {} if self._waits or not self.asked else {"late": self.late / self.asked}
        self._closed = True
        self._row.end(self._answered, self._end._replace(results={**late, **results}))
        if self._waiting is not None:
            self._waiting.cancel()

    def _show(self, obs: Any, legal: Any) -> None:
        self._obs = self._form.obs(obs)
        self._row.ask(self._answered, self._move(legal=self._form.legal(legal)))

    def _move(self, *, legal: Array | None = None, terminated: bool = False, truncated: bool = False) -> Move:
        """What has happened since the last move; before the first one, nothing has."""
        now = self._now if self._form.has_clock else time.monotonic()
        if math.isnan(self._since):
            move = Move(self._obs, self._form.zero(), legal=legal)
        else:
            elapsed = now - self._since if self._form.is_timed else 1.0
            move = Move(self._obs, self._gained, elapsed, terminated, truncated, legal=legal)
            self._gained = self._form.zero()
        self._since = now
        return move

    def _answered(self, action: Any) -> None:
        self.action, waiting, self._waiting = action, self._waiting, None
        self._noticed()
        if waiting is not None and not waiting.done():
            waiting.set_result(action)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError(f"the episode of {self.name} is over")


class RuledSeat:
    """A seat that a rule plays, which answers at once."""

    thinking = False

    def __init__(self, name: str, rule: Callable[[Any, Any], Any], noticed: Callable[[], None]) -> None:
        self.name, self.action = name, None
        self._rule, self._noticed = rule, noticed

    async def act(self, obs: Any, legal: Any = None, *, at: float | None = None) -> Any:
        self.ask(obs, legal, at=at)
        return self.action

    async def answer(self) -> Any:
        return self.action

    def ask(self, obs: Any, legal: Any = None, *, at: float | None = None) -> bool:
        self._noticed()
        self.action = self._rule(obs, legal)
        return True

    def reward(self, *amount: float, **channels: float) -> None:
        """Nobody learns from it."""

    def end(self, obs: Any = None, *, truncated: bool = True, at: float | None = None) -> None:
        """Nobody waits for it."""
