"""Results of games, as arrays that every rating reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.ratings.scale import Floats

Ints = np.ndarray[Any, np.dtype[np.int64]]
Result = tuple[Sequence[int], Sequence[int], float, float]
"""One side's players, the other side's, the first side's wins (a draw is half a win), and the number of games."""


@dataclass(frozen=True)
class Games:
    """Groups of games between two sides, one group a row.

    `players` [row, seat] are the players by number. `weights` [row, seat] say what each adds to the difference between
    the sides' ratings: those of the first side add up to 1, those of the other to -1, and an empty seat has 0. `wins` [row]
    are the first side's, a draw being half a win, out of `count` [row] games.
    """

    players: Ints
    weights: Floats
    wins: Floats
    count: Floats

    def __post_init__(self) -> None:
        if np.any(self.count < 0) or np.any(self.wins < 0) or np.any(self.wins > self.count):
            raise ValueError("wins must lie between 0 and the number of games")

    def __len__(self) -> int:
        return len(self.wins)

    def differences(self, ratings: Floats) -> Floats:
        """How far the first side is rated above the other [row], by the ratings of all players [player]."""
        difference: Floats = (self.weights * ratings[self.players]).sum(axis=1)
        return difference

    @classmethod
    def between(cls, one: Any, other: Any, wins: Any, count: Any) -> Games:
        """Games of two players each: arrays [row], or numbers for one row."""
        first, second, won, played = (np.atleast_1d(np.asarray(values)) for values in (one, other, wins, count))
        players = np.stack([first, second], axis=1).astype(np.int64)
        weights = np.tile([1.0, -1.0], (len(players), 1))
        return cls(players, weights, won.astype(np.float64), played.astype(np.float64))

    @classmethod
    def of_sides(cls, results: Iterable[Result]) -> Games:
        """Games between sides of any size, a side's rating being the mean of its players'."""
        rows = list(results)
        seats = max((len(one) + len(other) for one, other, _, _ in rows), default=2)
        players = np.zeros((len(rows), seats), dtype=np.int64)
        weights = np.zeros((len(rows), seats))
        for row, (one, other, _, _) in enumerate(rows):
            taken = len(one) + len(other)
            players[row, :taken] = [*one, *other]
            weights[row, :taken] = [1 / len(one)] * len(one) + [-1 / len(other)] * len(other)
        numbers = np.array([(wins, count) for _, _, wins, count in rows], dtype=np.float64).reshape(-1, 2)
        return cls(players, weights, numbers[:, 0], numbers[:, 1])

    @classmethod
    def of_table(cls, wins: Floats) -> Games:
        """The games of a table in which wins[i, j] games of i against j were won by i."""
        one, other = np.triu_indices(len(wins), 1)
        return cls.between(one, other, wins[one, other], wins[one, other] + wins[other, one])
