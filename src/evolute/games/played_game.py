"""One copy of a game, which is played episode after episode; one that fails is cut short, and the next begins."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
import traceback
from collections.abc import Callable, Mapping
from types import CoroutineType
from typing import Any

import numpy as np

from evolute.core.rng import derive
from evolute.games.game import Game
from evolute.games.rows import Row
from evolute.games.seats import Format, PlayedSeat, RuledSeat

STRIKES = 3
"""How many episodes in a row may fail."""
LOOKS = 10
"""How often per `stall` an episode is looked at."""
PAUSE = 0.05
"""Seconds before the next episode after one that failed."""
KEPT = 100
"""How many last words are kept."""


Results = Mapping[str, Mapping[str, float]]
"""The numbers that an episode ends with, by seat."""


class GameError(RuntimeError):
    """A game failed; the text is its last words."""


class NoGameError(GameError):
    """There is no game to be played, and another try would be in vain."""


class PlayedGame:
    """Plays a game. `words` gets what went wrong; after some failures in a row the rows are `failed`."""

    def __init__(
        self,
        game: Game,
        form: Format,
        rows: Mapping[str, Row],
        seed: int,
        words: list[str],
        failed: Callable[[str], None],
    ) -> None:
        self._game, self._form, self._rows, self._seed = copy.copy(game), form, rows, seed
        self._words, self._failed = words, failed
        self._space = copy.deepcopy(form.actions)
        self._active = True

    async def run(self) -> None:
        """Episodes without end; whatever goes wrong, the learner is not left waiting."""
        try:
            await self._play_on()
        except Exception as error:
            self._words.append(_last_words(error))
            self._failed(self._words[-1])
        finally:
            try:
                self._game.close()
            except Exception as error:
                self._words.append(_last_words(error))

    async def _play_on(self) -> None:
        failures: list[str] = []
        number = 0
        while len(failures) < STRIKES:
            seed = derive(self._seed, "episode", number)
            self._space.seed(seed)
            seats = {name: self._seat(name) for name in self._game.seats}
            played = [seat for seat in seats.values() if isinstance(seat, PlayedSeat)]
            number += 1
            try:
                results = await self._episode(seats, played, seed)
            except (asyncio.CancelledError, NoGameError):
                raise
            except Exception as error:  # whatever a game raises is the failure of its episode
                failures.append(_last_words(error))
                self._words.append(failures[-1])
                del self._words[:-KEPT]
                for seat in played:
                    seat.close({"failed": 1.0}, truncated=True)
                await asyncio.sleep(PAUSE)
                continue
            failures.clear()
            for seat in played:
                seat.close(results[seat.name])
        self._failed(f"{type(self._game).__name__} failed in {STRIKES} episodes in a row, first so:\n{failures[0]}")

    async def _episode(self, seats: Mapping[str, Any], played: list[PlayedSeat], seed: int) -> Results:
        """Play one episode; raises GameError if it stalls."""
        coroutine = self._game.play(seats, seed)
        if not inspect.iscoroutine(coroutine):
            raise GameError("play is no coroutine: write it as `async def play(self, seats, seed)`")
        task = asyncio.ensure_future(_contained(coroutine))
        idle = 0
        try:
            while not task.done():
                self._active = False
                await asyncio.wait({task}, timeout=self._game.stall / LOOKS)
                idle = 0 if self._active or any(seat.thinking for seat in played) else idle + 1
                if idle >= LOOKS and not task.done():
                    why = await self._game.stalled() or f"it waits in {_place(coroutine)}"
                    if not task.done():
                        raise GameError(f"the game asked nobody for {self._game.stall:g} s; {why}")
        finally:
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await asyncio.wait({task}, timeout=PAUSE)
        if task.cancelled():
            raise GameError("play has cancelled itself")
        results = self._by_seat(task.result())
        if not any(seat.asked for seat in played):
            raise GameError(f"the game was over before any of {', '.join(seat.name for seat in played)} was asked")
        return results

    def _seat(self, name: str) -> PlayedSeat | RuledSeat:
        if name in self._rows:
            return PlayedSeat(name, self._rows[name], self._form, self._noticed, waits=self._game.repeatable)
        return RuledSeat(name, lambda obs, legal: self._ruled(name, obs, legal), self._noticed)

    def _ruled(self, name: str, obs: Any, legal: Any) -> Any:
        action = self._game.rule(name, obs)
        if action is not None:
            return action
        return self._space.sample() if legal is None else self._space.sample(np.array(legal, np.int8))

    def _noticed(self) -> None:
        self._active = True

    def _by_seat(self, results: Any) -> Results:
        """What `play` has returned, for each seat."""
        try:
            told = dict(results or {})
            if told and all(name in self._game.seats and isinstance(told[name], Mapping) for name in told):
                return {name: _numbers(told.get(name, {})) for name in self._game.seats}
            return dict.fromkeys(self._game.seats, _numbers(told))
        except (TypeError, ValueError) as error:
            raise GameError(
                f"play returned {results!r}: it may return numbers by name, for all seats or by the name of a seat ({error})"
            ) from error


def _numbers(told: Mapping[str, Any]) -> dict[str, float]:
    return {str(name): float(value) for name, value in told.items()}


def _last_words(error: Exception) -> str:
    if isinstance(error, GameError):
        return str(error)
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if frame.filename != __file__] or list(frames)
    where = f" ({own[-1].filename}, line {own[-1].lineno})"
    return f"{type(error).__name__}: {error}{where}"


async def _contained(play: CoroutineType[Any, Any, Any]) -> Any:
    """What a game returns; if it would end the program, or cancels itself, that is its failure."""
    try:
        return await play
    except (SystemExit, KeyboardInterrupt) as error:
        raise GameError(f"play raised {error!r}") from error


def _place(coroutine: CoroutineType[Any, Any, Any]) -> str:
    """Which line of `play` a game waits in."""
    frame = coroutine.cr_frame
    return f"{frame.f_code.co_filename}, line {frame.f_lineno}" if frame is not None else "a line that is not known"
