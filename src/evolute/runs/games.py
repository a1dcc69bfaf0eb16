"""All games of a run as columns, out of its table of turns: who met whom, and how that went."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.runs.turns import Numbers, TurnTable

BOT = -1
"""The opponent's member where that is a bot, or a guest."""
Table = np.ndarray[tuple[int, int], np.dtype[np.float64]]


@dataclass(frozen=True)
class GameTable:
    """Games of finished states as columns of equal length, [group]: those of one turn against one opponent.

    `member` and `turn` say whose games they are, `other` and `other_turn` which state they were against. Where that is
    a bot or a guest, `other` is BOT and `other_turn` its place in `bots`. `wins` count a draw as half a win, out of `count`. An
    opponent that shares its side with others is counted for its share of the seats.
    """

    member: Numbers
    turn: Numbers
    other: Numbers
    other_turn: Numbers
    wins: Numbers
    count: Numbers
    bots: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.member)

    @classmethod
    def of(cls, table: TurnTable) -> GameTable:
        """The games of a run, by turn; those of a state against itself say nothing, and are left out."""
        bots: dict[str, int] = {}
        groups: list[tuple[Any, ...]] = []
        for member, turn, text in table.matches:
            for against, score, games, *_ in json.loads(text):
                others = [player for player in against if player is not None]
                for player in others:
                    state = (BOT, bots.setdefault(player, len(bots))) if isinstance(player, str) else tuple(player)
                    groups.append((member, turn, *state, score * games / len(others), games / len(others)))
        groups.sort(key=lambda group: group[1])
        columns = np.array(groups, dtype=np.float64).reshape(-1, 6).T
        member, turn, other, other_turn = columns[:4].astype(np.int64)
        return cls(member, turn, other, other_turn, columns[4], columns[5], tuple(bots))

    def between_members(self, size: int, last: int, turns: int) -> Table:
        """Games that members have won of those between states of `turns` turns up to `last`: [member, member]."""
        rows = self._rows(last, turns)
        known = (self.other[rows] != BOT) & (self.other_turn[rows] > last - turns)
        return self._added(rows, known, self.other[rows], (size, size), both=True)

    def against_bots(self, size: int, last: int, turns: int) -> tuple[Table, Table]:
        """What members have won against each bot in the same turns, and how many games there were: [member, bot]."""
        rows = self._rows(last, turns)
        known, bot = self.other[rows] == BOT, self.other_turn[rows]
        shape = (size, len(self.bots))
        return self._added(rows, known, bot, shape), self._added(rows, known, bot, shape, count=True)

    def against_past(self, size: int, last: int, turns: int) -> tuple[Table, Table]:
        """The same against older states of any member: [member, 1]."""
        rows = self._rows(last, turns)
        known = (self.other[rows] != BOT) & (self.other_turn[rows] <= last - turns)
        only = np.zeros(len(known), dtype=np.int64)
        return self._added(rows, known, only, (size, 1)), self._added(rows, known, only, (size, 1), count=True)

    def _rows(self, last: int, turns: int) -> slice:
        first, end = np.searchsorted(self.turn, [last - turns, last], side="right")
        return slice(int(first), int(end))

    def _added(
        self, rows: slice, known: Numbers, column: Numbers, shape: tuple[int, int], *, count: bool = False, both: bool = False
    ) -> Table:
        found = np.zeros(shape)
        member, other = self.member[rows][known], column[known]
        wins, games = self.wins[rows][known], self.count[rows][known]
        np.add.at(found, (member, other), games if count else wins)
        if both:
            np.add.at(found, (other, member), games - wins)
        return found
