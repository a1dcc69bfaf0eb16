from __future__ import annotations

import numpy as np
import pytest
from known_strengths import table
from scipy.stats import beta

from evolute.ratings.cycles import strongest_cycle
from evolute.ratings.scale import win_probability


def test_a_cycle_is_named_in_the_order_of_its_wins():
    wins = np.array([[0.0, 18.0, 2.0, 20.0], [2.0, 0.0, 17.0, 20.0], [18.0, 3.0, 0.0, 20.0], [0.0, 0.0, 0.0, 0.0]])
    cycle = strongest_cycle(wins)
    assert cycle.players == (0, 1, 2)
    assert cycle.certainty == pytest.approx(beta(18, 4).sf(0.5))
    assert cycle.alarm


def test_a_ladder_and_unplayed_pairs_raise_no_alarm():
    assert not strongest_cycle(np.triu(np.full((6, 6), 30.0), 1)).alarm
    unplayed = strongest_cycle(np.zeros((5, 5)))
    assert (unplayed.certainty, unplayed.alarm) == (pytest.approx(0.5), False)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_fewer_than_three_players_make_no_cycle(size):
    assert strongest_cycle(np.zeros((size, size))) is None


def test_false_alarms_are_rare_and_a_clear_cycle_is_found():
    false, found = 0, {32: 0, 64: 0}
    for seed in range(100):
        rng = np.random.default_rng(seed)
        strengths = rng.normal(0, 200, 12)
        ladder = win_probability(strengths[:, None] - strengths)
        circular = ladder.copy()
        for one, other in ((0, 1), (1, 2), (2, 0)):
            circular[one, other], circular[other, one] = 0.7, 0.3
        false += strongest_cycle(table(rng, ladder, 64)).alarm
        for games in found:
            found[games] += strongest_cycle(table(rng, circular, games)).alarm
    assert false <= 1
    assert found[32] >= 50
    assert found[64] >= 85
