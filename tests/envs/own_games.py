"""What a user may write: a game of their own, and an env that is none."""

from __future__ import annotations

import numpy as np

from evolute.envs.matrix_game import MatrixGame
from evolute.envs.ours.cartpole import CartPole

HIGHEST = [[[0, -1], [1, 0]], [[0, 1], [-1, 0]]]


class Duel(MatrixGame):
    """The higher number wins."""

    def __init__(self, *, rounds: int = 1) -> None:
        super().__init__(HIGHEST, rounds=rounds)


class Hiding(MatrixGame):
    """One hides in one of three places, two look in one each: teams of unequal size."""

    def __init__(self) -> None:
        hidden, *looked = np.indices((3, 3, 3))
        found = np.where((looked[0] == hidden) | (looked[1] == hidden), 1.0, -1.0)
        super().__init__(np.stack([-found, found, found]), rounds=1)
        self.teams, self.zero_sum = (0, 1, 1), True


def alone():
    return CartPole()
