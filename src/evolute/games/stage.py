"""All games of a worker in one asyncio loop, which has a thread of its own: games go on while a learner computes.

The learner's thread sends actions and takes moves; everything else happens in the loop's thread.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from evolute.envs.interface import Array, Moved
from evolute.games.game import Game
from evolute.games.played_game import GameError, PlayedGame
from evolute.games.rows import Move, Row
from evolute.games.seats import Format

BEAT = 0.25
"""Seconds after which a learner that waits looks whether the loop is alive."""
GRACE = 5.0
"""Seconds that games have to end when the stage is closed."""


class Stage:
    """A Pool whose rows are seats of games, one game for each seed; `played` says which seats of each are rows."""

    def __init__(self, game: Game, played: Sequence[Sequence[str]], seeds: Sequence[int]) -> None:
        self.rows, self.failures = sum(map(len, played)), dict[int, Exception]()
        self.words: list[str] = []
        """The last words of episodes that failed."""
        self._game = game
        self._form = Format(game)
        self._changed = threading.Condition()
        self._moves: dict[int, Move] = {}
        self._moving = set(range(self.rows))
        self._wanted = 0
        """As many moves as the learner waits for."""
        self._beats, self._closing, self._dead = 0, False, False
        box = self._form.box
        self._blank = Move(np.zeros(box.shape, box.dtype), self._form.zero() + np.nan, 1.0)
        self._rows = [Row(partial(self._show, number), self._blank) for number in range(self.rows)]
        firsts = np.cumsum([0, *map(len, played)]).tolist()
        self._played = [self._one(game, *one) for one in zip(played, firsts[:-1], seeds, strict=True)]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=f"stage of {type(game).__name__}", daemon=True)
        self._thread.start()

    def send(self, rows: Array, actions: Any) -> None:
        numbers = np.asarray(rows).tolist()
        chosen = np.array(actions)
        listed = chosen.tolist() if isinstance(self._form.actions, gymnasium.spaces.Discrete) else list(chosen)
        with self._changed:
            self._moving.update(numbers)
            if self._dead:
                self._moves.update(dict.fromkeys(numbers, self._blank))
                return
        self._loop.call_soon_threadsafe(self._act, list(zip(numbers, listed, strict=True)))

    def recv(self, least: int = 1, patience: float | None = None) -> Moved:
        deadline = None if patience is None else time.monotonic() + patience
        silent, beats = 0.0, self._beats
        with self._changed:
            self._wanted = min(least, len(self._moving))
            while len(self._moves) < self._wanted:
                left = BEAT if deadline is None else min(BEAT, deadline - time.monotonic())
                if left <= 0:
                    break
                moved = self._changed.wait(left)
                silent, beats = (0.0 if moved or beats != self._beats else silent + left), self._beats
                if silent > self._game.stall:
                    self._blocked()
            rows = sorted(self._moves)
            moves = [self._moves.pop(row) for row in rows]
            self._moving.difference_update(rows)
        return self._moved(rows, moves)

    def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join(GRACE)
        if not self._thread.is_alive():
            self._loop.close()

    def _one(self, game: Game, played: Sequence[str], first: int, seed: int) -> PlayedGame:
        rows = {name: self._rows[first + place] for place, name in enumerate(played)}

        def failed(words: str) -> None:
            error = GameError(words)
            with self._changed:
                self.failures.update(dict.fromkeys(range(first, first + len(played)), error))
            for row in rows.values():
                row.fail()

        return PlayedGame(game, self._form, rows, seed, self.words, failed)

    def _moved(self, rows: list[int], moves: list[Move]) -> Moved:
        box, many = self._form.box, len(rows)
        reward = np.array([move.reward for move in moves], np.float32).reshape(many, max(1, len(self._form.channels)))
        legal = None
        if any(move.legal is not None for move in moves):
            everything = np.ones(self._form.choices or 0, bool)
            legal = np.stack([everything if move.legal is None else move.legal for move in moves])
        return Moved(
            np.array(rows, np.int64),
            np.array([move.obs for move in moves], box.dtype).reshape(many, *box.shape),
            reward if self._form.channels else reward.reshape(many),
            np.array([move.elapsed for move in moves], np.float32),
            np.array([move.terminated for move in moves], bool),
            np.array([move.truncated for move in moves], bool),
            {row: move.results for row, move in zip(rows, moves, strict=True) if move.results is not None},
            legal,
        )

    def _blocked(self) -> None:
        """The loop has stood still: some game does not wait by `await`. Nothing can be played any more."""
        frame = sys._current_frames().get(self._thread.ident or 0)
        where = "".join(traceback.format_stack(frame)[-3:]) if frame is not None else "its thread has ended\n"
        words = f"a game blocked all others for more than {self._game.stall:g} s, instead of waiting by await:\n{where}"
        self.words.append(words)
        for number in range(self.rows):
            self.failures.setdefault(number, GameError(words))
        self._dead = True
        self._moves.update(dict.fromkeys(self._moving, self._blank))

    # In the loop's thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        kept = [self._loop.create_task(one.run()) for one in self._played] + [self._loop.create_task(self._beat())]
        self._loop.run_forever()
        for task in kept:
            task.cancel()
        self._loop.run_until_complete(asyncio.wait(asyncio.all_tasks(self._loop), timeout=GRACE / 2))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())

    async def _beat(self) -> None:
        while True:
            self._beats += 1
            await asyncio.sleep(BEAT / 2)

    def _stop(self) -> None:
        self._loop.stop()

    def _act(self, actions: list[tuple[int, Any]]) -> None:
        for row, action in actions:
            self._rows[row].act(action)

    def _show(self, row: int, move: Move) -> None:
        with self._changed:
            if self._dead:
                return
            self._moves[row] = move
            if len(self._moves) >= self._wanted:
                self._changed.notify()
