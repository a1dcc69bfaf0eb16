"""What a user may write: a game of their own, and an env that is none."""

from __future__ import annotations

from evolute.envs.matrix_game import MatrixGame
from evolute.envs.ours.cartpole import CartPole

HIGHEST = [[[0, -1], [1, 0]], [[0, 1], [-1, 0]]]


class Duel(MatrixGame):
    """The higher number wins."""

    def __init__(self, *, rounds: int = 1) -> None:
        super().__init__(HIGHEST, rounds=rounds)


def alone():
    return CartPole()
