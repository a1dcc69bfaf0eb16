"""The standard error of a score, as learners report it."""

from __future__ import annotations

import numpy as np
import pytest

from evolute.learners.kit.episode_stats import EpisodeStats, blank, error_of_mean, standard_error


def stats(returns, count=None):
    made = np.array(returns, np.float32)
    return EpisodeStats(made, np.ones(len(made), np.float32), np.int32(len(made) if count is None else count))


def test_it_is_the_spread_over_the_root_of_the_number():
    returns = [1.0, 2.0, 4.0, 9.0]
    expected = np.std(returns, ddof=1) / 2
    assert error_of_mean(returns) == pytest.approx(expected)
    assert standard_error(stats(returns)) == pytest.approx(expected)
    assert standard_error(stats([[one, 100.0] for one in returns])) == pytest.approx(expected)  # of the first channel


def test_places_of_the_ring_that_no_episode_has_filled_do_not_count():
    assert standard_error(stats([1.0, 2.0, 0.0, 0.0], count=2)) == pytest.approx(0.5)
    assert standard_error(stats([1.0, 2.0], count=7)) == pytest.approx(0.5)


def test_there_is_none_with_less_than_two_episodes():
    assert standard_error(blank(5)) is None
    assert standard_error(stats([3.0])) is None
