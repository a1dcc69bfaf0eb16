from __future__ import annotations

import json

import numpy as np
import pytest
from tests.strategies.populations import evolved

from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.space import Space
from evolute.strategies.bayes.bg_pbt_explore import reach_of
from evolute.strategies.bayes.points import Layout
from evolute.strategies.bayes.region import Region

MIXED = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "depth": Int(1, 20),
        "width": Ordinal(8, 16),
        **{f"c{number}": Choice("a", "b", "c", "d") for number in range(4)},
    }
)
PARENT = {"lr": 1e-3, "depth": 10, "width": 16, **{f"c{number}": "b" for number in range(4)}}


def after(outcomes, region=None):
    """The region after these rounds, successes or not, in which the best score always rises."""
    region = Region() if region is None else region
    for number, success in enumerate(outcomes):
        region = region.after(success=success, best=float(number))
    return region


def test_three_successes_in_a_row_widen_the_region():
    assert after([True] * 2).side == 0.4
    assert after([True] * 3).side == pytest.approx(0.6)
    assert after([True, True, False, True, True]).side == 0.4
    assert after([True] * 9).side == 1.0


def test_ten_failures_in_a_row_narrow_it():
    assert after([False] * 9).side == 0.4
    narrowed = after([False] * 10)
    assert narrowed.side == pytest.approx(0.267, abs=1e-3)
    assert narrowed.radius == pytest.approx(1 / 1.5)
    assert after([False] * 9 + [True] + [False] * 9).side == 0.4


def test_below_the_smallest_side_it_restarts():
    assert after([False] * 29).restarts == 0
    restarted = after([False] * 30)
    assert (restarted.side, restarted.radius, restarted.restarts, restarted.restarted) == (0.4, 1.0, 1, True)
    assert restarted.best == 29.0
    assert not restarted.after(success=False, best=0.0).restarted


def test_fifteen_rounds_without_a_new_best_restart_it():
    region = Region().after(success=True, best=5.0)
    for number in range(15):
        assert region.restarts == 0, number
        region = region.after(success=number % 2 == 0, best=5.0)
    assert (region.restarts, region.restarted) == (1, True)


def test_a_region_survives_json():
    region = after([True, False, False])
    assert Region.from_json(json.loads(json.dumps(region.to_json()))) == region


def test_a_region_of_an_older_run_is_read():
    stored = {key: value for key, value in after([False] * 30).to_json().items() if key != "restarted"}
    assert Region.from_json({**stored, "anew": True}) == after([False] * 30)


@pytest.mark.parametrize(("radius", "changes"), [(1.0, 4), (0.667, 3), (0.444, 2), (0.2, 1), (0.1, 1)])
def test_the_radius_of_categories_is_respected(radius, changes):
    parent = evolved([1.0], hparams=lambda slot: PARENT)[0].latest
    layout = Layout(MIXED)
    reach = reach_of(Region(radius=radius), layout, parent)
    numbers, places = reach.draw(2000, np.random.default_rng(0))
    apart = (places != layout.encode(PARENT)[1]).sum(axis=1)
    assert apart.max() == changes
    assert set(apart) == set(range(changes + 1))
    for row in range(20):
        _, swapped = reach.neighbours(numbers[row], places[row])
        assert (swapped != layout.encode(PARENT)[1]).sum(axis=1).max() <= changes


def test_numbers_stay_within_half_a_side_of_the_parent_but_may_move_a_step():
    parent = evolved([1.0], hparams=lambda slot: PARENT)[0].latest
    layout = Layout(MIXED)
    numbers, _ = reach_of(Region(), layout, parent).draw(2000, np.random.default_rng(0))
    centre, _ = layout.encode(PARENT)
    assert np.abs(numbers[:, :2] - centre[:2]).max() <= 0.2 + 1e-9
    depths = {layout.decode(row, [0] * 4)["depth"] for row in numbers}
    assert depths == set(range(7, 14))
    assert set(numbers[:, 2]) == {0.0, 1.0}


def test_a_region_that_restarts_reaches_everywhere():
    parent = evolved([1.0], hparams=lambda slot: PARENT)[0].latest
    reach = reach_of(Region(restarted=True), Layout(MIXED), parent)
    numbers, places = reach.draw(4000, np.random.default_rng(0))
    assert numbers.min(axis=0) == pytest.approx(0, abs=0.01)
    assert numbers.max(axis=0) == pytest.approx(1, abs=0.01)
    assert {tuple(row) for row in places} > {(0, 0, 0, 0), (3, 3, 3, 3)}
