from __future__ import annotations

import numpy as np
import pytest

from evolute.ratings.alpha_rank import alpha_rank


def test_a_chain_by_hand():
    """Of two players the better holds 1 - epsilon of the time: it is left with epsilon and entered with 1 - epsilon."""
    assert alpha_rank(np.array([[0.0, 0.4], [-0.4, 0.0]])) == pytest.approx([0.999, 0.001])
    assert alpha_rank(np.array([[0.0, 0.4], [-0.4, 0.0]]), epsilon=0.1) == pytest.approx([0.9, 0.1])


def test_equals_and_cycles_share():
    cycle = np.array([[0.0, -0.2, 1.0], [0.2, 0.0, -0.1], [-1.0, 0.1, 0.0]])
    assert alpha_rank(cycle) == pytest.approx([1 / 3] * 3)
    assert alpha_rank(np.zeros((5, 5))) == pytest.approx([0.2] * 5)
    assert alpha_rank(np.zeros((1, 1))) == pytest.approx([1.0])


def test_a_dominated_player_holds_almost_no_time():
    payoff = np.array([[0.0, -1.0, 1.0, 1.0], [1.0, 0.0, -1.0, 1.0], [-1.0, 1.0, 0.0, 1.0], [-1.0, -1.0, -1.0, 0.0]])
    shares = alpha_rank(payoff)
    assert shares[:3] == pytest.approx([shares[0]] * 3)
    assert shares[3] == pytest.approx(0.001 / 2.998, rel=1e-2)


def test_the_best_of_a_ladder_holds_almost_all():
    strengths = np.arange(6.0)
    shares = alpha_rank(np.sign(strengths[:, None] - strengths))
    assert shares[5] > 0.99
    assert shares.sum() == pytest.approx(1)
    assert np.all(np.diff(shares) > 0)
