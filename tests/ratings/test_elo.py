from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.ratings import elo
from evolute.ratings.games import Games


@pytest.mark.parametrize(
    ("difference", "score", "games", "step"),
    [
        (0, 1.0, 1, 2.0),
        (0, 0.5, 10, 0.0),
        (400, 1.0, 11, 4.0),  # 4 · 11 · (1 - 10/11)
        (-400, 1.0, 11, 40.0),
        (400, 0.0, 1, -40 / 11),
        (0, 1.0, 1000, 100.0),
        (0, 0.0, 1000, -100.0),
        (0, 1.0, 50, 100.0),
        (0, 1.0, 49, 98.0),
    ],
)
def test_the_step_is_four_a_game_times_the_surprise_and_at_most_a_hundred(difference, score, games, step):
    assert elo.step(difference, score, games) == pytest.approx(step)


def test_k_and_the_largest_step_are_settings():
    assert elo.step(0, 1.0, 1, k=32) == 16
    assert elo.step(0, 1.0, 100, most=7) == 7


def test_rows_follow_one_another():
    ratings = elo.updated(np.zeros(3), Games.between([0, 0], [1, 2], [10, 10], [10, 10]))
    first = 20.0
    second = elo.step(first, 1.0, 10)
    assert ratings == pytest.approx([first + second, -first, -second])
    assert second < first


def test_all_players_of_a_side_move_alike():
    ratings = elo.updated(np.array([100.0, -100.0, 0.0]), Games.of_sides([([0, 1], [2], 1, 1)]))
    assert ratings == pytest.approx([102, -98, -2])


def test_rows_without_games_change_nothing():
    assert elo.updated(np.array([5.0, 7.0]), Games.between(0, 1, 0, 0)).tolist() == [5.0, 7.0]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_what_one_gains_the_other_loses(rows):
    games = Games.of_sides(([one], [(one + far) % 4], wins, wins + losses) for one, far, wins, losses in rows)
    before = np.zeros(4)
    assert elo.updated(before, games).sum() == pytest.approx(0, abs=1e-9)
    assert before.tolist() == [0.0] * 4
