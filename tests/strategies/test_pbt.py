from __future__ import annotations

import numpy as np
import pytest
from populations import FAILED, SPACE, evolved, hparams_of, plan, step

from evolute.core.order import Ref
from evolute.strategies import pbt


def test_by_default_the_bottom_quarter_inherits_from_the_top_quarter():
    scores = [5.0, 2.0, 8.0, 1.0, 7.0, 3.0, 6.0, 4.0]
    population = evolved(scores)
    donors = set()
    for seed in range(40):
        orders = step(pbt(plan(8)), population, seed)
        heirs = {slot: order.start.member for slot, order in orders.items() if order.start.member != slot}
        assert set(heirs) == {1, 3}
        donors |= set(heirs.values())
    assert donors == {2, 4}


def test_by_default_a_quarter_of_the_values_is_resampled_and_the_others_move_by_a_fifth():
    population = evolved([1.0, 2.0], hparams=lambda slot: {"lr": 3e-4, "entropy": 0.05})
    lrs = np.array([step(pbt(plan(2)), population, seed)[0].hparams["lr"] for seed in range(2000)])
    moved = np.isclose(lrs, 0.8 * 3e-4) | np.isclose(lrs, 1.2 * 3e-4)
    assert 1 - moved.mean() == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("explore", ["perturb", "none"])
def test_without_exploit_everybody_goes_on_as_it_was(explore):
    orders = step(pbt(plan(4), exploit="none", explore=explore), evolved([1.0, 2.0, 3.0, 4.0], [4.0, None, 2.0, 1.0]))
    assert {slot: (order.start, order.hparams) for slot, order in orders.items()} == {
        slot: (Ref(slot, 1), hparams_of(slot)) for slot in range(4)
    }


def test_without_exploit_a_failed_member_tries_again_from_its_own_state_then_afresh():
    strategy = pbt(plan(3), exploit="none")
    retry = step(strategy, evolved([1.0, 2.0, 3.0], [1.0, FAILED, 3.0]))[1]
    assert (retry.start, retry.hparams) == (Ref(1, 0), hparams_of(1))
    afresh = step(strategy, evolved([1.0, 2.0, 3.0], [1.0, FAILED, 3.0], [1.0, FAILED, 3.0]))[1]
    assert afresh.start is None


def test_resampling_redraws_every_value():
    population = evolved([1.0, 2.0], hparams=lambda slot: {"lr": 1e-5, "entropy": 0.0})
    strategy = pbt(plan(2), explore="resample")
    places = np.array([SPACE.encode(step(strategy, population, seed)[0].hparams) for seed in range(1000)])
    assert places.mean(axis=0) == pytest.approx([0.5, 0.5], abs=0.04)


def test_tournament_and_welch_are_chosen_by_name():
    rounds = [[1.0 + noise, 2.0 - noise] for noise in (0.0, 0.4, 0.8)]
    heirs = {
        exploit: step(pbt(plan(2), exploit=exploit, explore="none"), evolved(*rounds))[0].start.member
        for exploit in ("tournament", "welch", "truncation")
    }
    assert heirs == {"tournament": 0, "welch": 0, "truncation": 1 if rounds[-1][1] > rounds[-1][0] else 0}
    clear = [[1.0 + noise, 5.0 - noise] for noise in (0.0, 0.1, 0.2)]
    for exploit in ("tournament", "welch"):
        assert step(pbt(plan(2), exploit=exploit), evolved(*clear))[0].start == Ref(1, 2)


@pytest.mark.parametrize(("settings", "word"), [({"quantile": 0.6}, "quantile=0.6"), ({"resample": 2}, "resample=2")])
def test_settings_out_of_range_are_refused(settings, word):
    with pytest.raises(ValueError, match=word):
        pbt(plan(4), **settings)


def test_factors_level_and_evaluations_are_passed_on():
    population = evolved(*[[0.0 + turn, 1.0 + turn] for turn in range(3)])
    assert step(pbt(plan(2), exploit="welch"), population)[0].start.member == 0
    order = step(pbt(plan(2), exploit="welch", level=0.5, resample=0.0, factors=(2.0,)), population)[0]
    assert order.start.member == 1
    assert order.hparams["lr"] == pytest.approx(2 * hparams_of(1)["lr"])
    past = [[9.0, 0.0], [8.0, 0.1], [9.5, 0.2], [1.0, 5.0], [1.1, 5.1], [0.9, 4.9]]
    starts = [step(pbt(plan(2), exploit="welch", evaluations=count), evolved(*past))[0].start.member for count in (3, 10)]
    assert starts == [1, 0]
