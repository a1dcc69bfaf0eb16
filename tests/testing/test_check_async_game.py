"""The check for authors of games that run by themselves: sound games pass, and each broken law is told."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.games.small_games import Duel, Limited, Paying, Sabotaged, Small

from evolute.testing import check_async_game


@pytest.mark.parametrize("game", [Paying(), Limited(), Duel(plays="you")], ids=lambda game: type(game).__name__)
def test_sound_games_pass(game):
    check_async_game(game)


class Forgetful(Limited):
    calls = itertools.count()

    async def play(self, seats, seed):
        await seats["player"].act([next(self.calls) % 90, 0])


class Outside(Limited):
    async def play(self, seats, seed):
        await seats["player"].act([1e6, 0])


class Endless(Small):
    async def play(self, seats, seed):
        while True:
            await seats["player"].act([0, 0])


async def breaks(seat):
    raise KeyError("the board")


class Infinite(Limited):
    async def play(self, seats, seed):
        await seats["player"].act([0, 0])
        return {"score": np.inf}


@pytest.mark.parametrize(
    ("game", "words"),
    [
        (Forgetful(), "repeatable is said"),
        (Outside(), "outside of the observation space"),
        (Endless(), "ended 0 of 4 episodes"),
        (Sabotaged(breaks), "an episode failed: KeyError: 'the board'|the game failed"),
        (Infinite(), "results are not all finite"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_broken_games_are_told(game, words):
    with pytest.raises(AssertionError, match=words):
        check_async_game(game, limit=3.0 if isinstance(game, Endless) else 60.0)
