"""Rows of a stage: a seat that the member plays, seen from the learner, episode after episode.

They are used in the thread of the stage's loop alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]


class Move(NamedTuple):
    """One row of `Moved`."""

    obs: Array
    reward: Array
    elapsed: float = 0.0
    terminated: bool = False
    truncated: bool = False
    results: Mapping[str, float] | None = None
    legal: Array | None = None


@dataclass(eq=False)
class Row:
    """Hands moves to the learner, one for each action. `show` takes them there.

    Seats come and go with their episodes. Since a game does not wait, its episode may have ended, and another begun, while the
    learner is still thinking: then the end waits here, and behind it the newest question of the next episode.
    """

    show: Callable[[Move], None]
    blank: Move
    awaited: bool = True
    """Whether the learner waits for a move."""
    failed: bool = False
    _answer: Callable[[Any], None] | None = None
    """Takes the answer to the question that the learner has; None if it has none."""
    _end: Move | None = None
    _question: tuple[Callable[[Any], None], Move] | None = None

    def ask(self, answer: Callable[[Any], None], move: Move) -> None:
        """Show a question as soon as the learner waits for one; until then a newer one replaces it."""
        self._question = (answer, move)
        self._go_on()

    def holds(self, answer: Callable[[Any], None]) -> bool:
        """Whether the learner has not seen this seat's question yet."""
        return self._question is not None and self._question[0] == answer

    def end(self, answer: Callable[[Any], None], move: Move) -> None:
        """The episode of a seat is over; if the learner has not seen anything of it, there is nothing to tell."""
        if self.holds(answer):
            self._question = None
        if self._answer == answer:
            self._end = move
            self._go_on()

    def act(self, action: Any) -> None:
        """The learner's next action."""
        self.awaited = True
        if self._answer is not None and self._end is None and not self.failed:
            self._answer(action)
        self._go_on()

    def fail(self) -> None:
        """From now on every action is answered at once, and by nothing."""
        self.failed = True
        self._go_on()

    def _go_on(self) -> None:
        if not self.awaited:
            return
        if self.failed:
            self._shown(self.blank)
        elif self._end is not None:
            move, self._end, self._answer = self._end, None, None
            self._shown(move)
        elif self._question is not None:
            (self._answer, move), self._question = self._question, None
            self._shown(move)

    def _shown(self, move: Move) -> None:
        self.awaited = False
        self.show(move)
