from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evolute.ratings.nash import (
    antisymmetric,
    average,
    equilibrium,
    exploitability,
    fictitious_play,
    intervals,
    solve,
)

RPS = np.array([[0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
FOUR = np.array([[0.0, -1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 1.0], [-1.0, 1.0, 0.0, 1.0], [-1.0, -1.0, -1.0, 0.0]])
"""Rock, paper, scissors, and one that loses to all."""
tables = st.integers(1, 8).flatmap(lambda size: arrays(float, (size, size), elements=st.integers(-8, 8).map(float)))
games = tables.map(antisymmetric)


def test_the_average_of_rock_paper_scissors_leaves_out_a_dominated_player():
    found = average(FOUR)
    assert found.mixture == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0], abs=1e-6)
    assert found.skill == pytest.approx([0, 0, 0, -1], abs=1e-6)


@pytest.mark.parametrize("cloned", range(4))
def test_three_clones_share_the_weight_of_one(cloned):
    players = [0, 1, 2, 3, cloned, cloned]
    found = average(FOUR[np.ix_(players, players)])
    merged = np.bincount(players, found.mixture)
    assert np.abs(merged - [1 / 3, 1 / 3, 1 / 3, 0]).max() < 1e-5
    assert found.skill == pytest.approx([0, 0, 0, -1, FOUR[cloned, :3].sum() / 3, FOUR[cloned, :3].sum() / 3], abs=1e-5)
    assert found.mixture[[cloned, 4, 5]] == pytest.approx([merged[cloned] / 3] * 3, abs=1e-6)
    assert np.bincount(players, solve(FOUR[np.ix_(players, players)])[1]) == pytest.approx(merged, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_cloning_a_player_does_not_move_the_average(seed):
    rng = np.random.default_rng(seed)
    payoff = antisymmetric(rng.random((7, 7)))
    before = average(payoff)
    for cloned in range(7):
        players = [*range(7), cloned, cloned]
        after = average(payoff[np.ix_(players, players)])
        assert np.abs(np.bincount(players, after.mixture) - before.mixture).max() < 1e-5
        assert np.abs(after.skill - before.skill[players]).max() < 1e-5


@settings(max_examples=25, deadline=None)
@given(games)
def test_nobody_gains_against_an_equilibrium(payoff):
    scale = np.abs(payoff).max() or 1.0
    mixture = equilibrium(payoff)
    assert mixture.sum() == pytest.approx(1)
    assert mixture.min() >= 0
    assert exploitability(payoff, mixture) < 1e-6 * scale
    value, corner = solve(payoff)
    assert value == pytest.approx(0, abs=1e-7 * scale)
    assert _entropy(mixture) >= _entropy(corner) - 1e-4


def _entropy(mixture):
    held = mixture[mixture > 0]
    return float(-(held * np.log(held)).sum())


@pytest.mark.parametrize(
    ("payoff", "value", "mixture"),
    [
        ([[3.0, 1.0], [0.0, 2.0]], 1.5, [0.5, 0.5]),
        ([[2.0, -1.0, 6.0], [0.0, 1.0, -1.0], [-2.0, 2.0, 1.0]], None, None),
        ([[0.0, 2.0, -1.0]], -1.0, [1.0]),
    ],
)
def test_the_value_of_any_zero_sum_game(payoff, value, mixture):
    payoff = np.array(payoff)
    found, rows = solve(payoff)
    columns = solve(-payoff.T)
    assert found == pytest.approx(-columns[0])
    assert (rows @ payoff).min() == pytest.approx(found)
    if value is not None:
        assert (found, list(rows)) == (pytest.approx(value), pytest.approx(mixture))


@pytest.mark.parametrize("gain", [1.0, 1.2, 0.1])
def test_an_equilibrium_by_hand(gain):
    """Rock, paper, scissors in which paper gains this much from rock: each is sent as often as the other two fight for."""
    payoff = RPS.copy()
    payoff[0, 1], payoff[1, 0] = -gain, gain
    assert equilibrium(payoff) == pytest.approx(np.array([1, 1, gain]) / (2 + gain), abs=1e-6)


def test_mixtures_are_as_exploitable_as_by_hand():
    assert exploitability(RPS, np.array([1.0, 0.0, 0.0])) == 1
    assert exploitability(RPS, np.array([0.5, 0.25, 0.25])) == 0.25
    assert exploitability(RPS, np.full(3, 1 / 3)) == pytest.approx(0)


@pytest.mark.parametrize("size", [1, 4, 12])
def test_fictitious_play_agrees(size):
    rng = np.random.default_rng(size)
    payoff = antisymmetric(rng.random((size, size)))
    played = fictitious_play(payoff, 10_000)
    assert exploitability(payoff, played) < 0.01
    assert np.abs(payoff @ played - average(payoff).skill).mean() < 0.02


def test_equal_players_share_alike():
    assert equilibrium(np.zeros((4, 4))) == pytest.approx([0.25] * 4)
    assert equilibrium(np.zeros((1, 1))) == pytest.approx([1.0])


def test_sixty_four_noisy_players_are_solved_precisely():
    rng = np.random.default_rng(0)
    strengths = rng.normal(0, 0.1, 64)
    payoff = antisymmetric(strengths[:, None] + rng.normal(0, 0.05, (64, 64)))
    mixture = equilibrium(payoff)
    assert exploitability(payoff, mixture) < 2e-8
    assert mixture @ strengths > strengths.mean()


def test_intervals_narrow_with_games_and_hold_the_truth():
    shares = np.array([[0.5, 0.3, 0.7, 0.9], [0.7, 0.5, 0.3, 0.9], [0.3, 0.7, 0.5, 0.9], [0.1, 0.1, 0.1, 0.5]])
    widths = []
    for count in (20, 2000):
        mixture, skill = intervals(shares * count, np.random.default_rng(0), draws=40)
        assert np.all(mixture.low - 1e-6 <= [1 / 3, 1 / 3, 1 / 3, 0])
        assert np.all(mixture.high + 1e-6 >= [1 / 3, 1 / 3, 1 / 3, 0])
        assert skill.low[3] < -0.8 < skill.high[3] + 0.1
        widths.append((mixture.high - mixture.low)[:3].mean())
    assert widths[1] < widths[0] / 4


def test_intervals_come_from_the_randomness_given():
    wins = np.array([[0.0, 3.0], [5.0, 0.0]])
    first, again = (intervals(wins, np.random.default_rng(7), draws=20)[1].low for _ in range(2))
    assert first.tobytes() == again.tobytes()
