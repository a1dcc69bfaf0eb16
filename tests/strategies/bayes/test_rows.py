from __future__ import annotations

import numpy as np
import pytest
from tests.strategies.populations import FAILED, STEPS, evolved, hparams_of

from evolute.core.order import Report
from evolute.core.param import Float
from evolute.core.space import Space
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.rows import newest_rows
from evolute.strategies.bayes.targets import by_rank, standardised


def rows_of(population, limit=1000):
    return newest_rows(population, interval=STEPS, limit=limit)


def test_a_row_holds_the_gain_over_the_score_before_and_the_age_of_the_line():
    rows = rows_of(evolved([1.0, 2.0], [4.0, 1.0], [4.5, 3.0]))
    assert rows.time.tolist() == [0, 0, 1, 1, 2, 2]
    assert sorted(zip(rows.time, rows.before, rows.gain, strict=True)) == [
        (0, 1, 0),
        (0, 1, 1),
        (1, 1, 3),
        (1, 2, -1),
        (2, 1, 2),
        (2, 4, 0.5),
    ]


def test_after_a_clone_the_score_before_is_the_parents():
    population = evolved([1.0, 5.0])
    order = population.draft(0, hparams_of(1), start=population[1].latest.ref)
    rows = rows_of(population.report([Report(order, {"score": 7.0}, STEPS, digest="d")]))
    assert (rows.before[-1], rows.gain[-1], rows.time[-1]) == (5.0, 2.0, 1.0)


def test_gains_are_per_interval_whatever_a_turn_took():
    population = evolved([1.0])
    order = population.draft(0, hparams_of(0), start=population[0].latest.ref)
    rows = rows_of(population.report([Report(order, {"score": 7.0}, 3 * STEPS, digest="d")]))
    assert rows.gain[-1] == pytest.approx(2.0)


def test_a_failed_turn_counts_as_the_lowest_gain_and_one_without_a_score_not_at_all():
    rows = rows_of(evolved([1.0, 2.0, 3.0], [2.0, FAILED, None]))
    assert len(rows) == 5
    assert sorted(rows.gain) == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("rounds", [[[FAILED, FAILED]], [[None, None]], [[FAILED, None], [None, FAILED]]])
def test_where_nothing_has_a_score_there_are_no_rows(rounds):
    assert len(rows_of(evolved(*rounds))) == 0


def test_the_newest_rows_are_kept():
    population = evolved(*[[float(turn), 2.0 * turn] for turn in range(20)])
    rows = rows_of(population, limit=7)
    assert len(rows) == 7
    assert rows.time.min() == 16


def test_turns_outside_of_bounds_that_have_changed_are_left_out():
    population = evolved([1.0, 2.0], [3.0, 4.0], hparams=lambda slot: {"lr": 10.0 ** (-3 - slot)})
    rows = newest_rows(population, interval=STEPS, limit=9, inside={"lr": Float(5e-4, 1e-1, log=True)})
    assert [row["lr"] for row in rows.hparams] == [1e-3, 1e-3]


def test_points_are_hparams_on_their_own_scale_and_the_context_from_0_to_1():
    space = Space({"lr": Float(1e-5, 1e-1, log=True)})
    rows = rows_of(evolved([1.0, 2.0], [3.0, 4.0], [9.0, 9.0], hparams=lambda slot: {"lr": 10.0 ** (-3 - slot)}))
    points = rows.points(Layout(space))
    assert sorted(set(points.numbers[:, 1].round(6))) == [0.25, 0.5]
    assert (points.numbers[:, 0].min(), points.numbers[:, 0].max()) == (0, 1)
    assert rows.context(7.0) == pytest.approx(2.0)


def test_gains_are_standardised_and_clipped_and_back():
    gains = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    targets = standardised(gains)
    assert targets.values.max() <= 2
    assert targets.back(float(targets.values[1])) == pytest.approx(1.0)
    constant = standardised(np.full(4, 3.0))
    assert constant.values.tolist() == [0, 0, 0, 0]
    assert constant.prediction(0.0, 1.0) == {"gain": 3.0, "uncertainty": 0.0}


def test_ranks_become_normal_quantiles_that_no_outlier_stretches():
    gains = np.array([3.0, 1.0, 2.0, 1e9, 1.0])
    targets = by_rank(gains)
    assert np.argsort(targets.values, kind="stable").tolist() == [1, 4, 2, 0, 3]
    assert targets.values[1] == targets.values[4]
    assert targets.values[3] == pytest.approx(1.2816, abs=1e-3)
    assert targets.back(float(targets.values[2])) == pytest.approx(2.0)
    assert by_rank(np.full(3, 7.0)).values == pytest.approx(np.zeros(3))
