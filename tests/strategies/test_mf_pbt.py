"""Groups that evolve at different frequencies."""

from __future__ import annotations

import pytest
from populations import FAILED, evolved, plan, step

from evolute.core.protocols import Plan
from evolute.strategies import mf_pbt, pbt


def after(turns, scores):
    """A population after this many turns with these scores."""
    return evolved(*[scores] * turns)


def moved(strategy, population, **kwargs):
    """Of each member that takes over: the event, and whose state it is."""
    orders = step(strategy, population, **kwargs)
    own = {slot for slot, order in orders.items() if order.start is not None and order.start.member == slot}
    return {slot: (order.why.get("event"), order.start.member) for slot, order in orders.items() if slot not in own}


def test_the_default_is_a_patient_quarter_that_waits_for_a_sixth_of_the_run():
    made = mf_pbt(plan(12))
    assert made.periods == (1, 8)
    assert made.sizes == (9, 3)
    assert mf_pbt(Plan(made.plan.space, 8, 10, None)).periods == (1, 10)


def test_a_group_evolves_only_when_its_period_is_over():
    made = mf_pbt(plan(16), periods=(1, 4), shares=(1, 1))
    scores = [float(slot) for slot in range(16)]
    for turns in (1, 2, 3, 5):
        assert set(moved(made, after(turns, scores))) <= set(range(8))
    assert set(moved(made, after(4, scores))) > set(range(8, 10))


def test_the_worst_of_a_group_take_over_its_best_and_those_above_better_outsiders():
    made = mf_pbt(plan(16), periods=(1, 4), shares=(1, 1))
    scores = [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 20.0, 19.0, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
    taken = moved(made, after(1, scores))
    assert taken == {6: ("inherit", 0), 7: ("inherit", 1), 4: ("migrate", 8), 5: ("migrate", 9)}


def test_a_migrant_brings_its_values_only_into_a_quicker_group():
    made = mf_pbt(plan(16), periods=(1, 4), shares=(1, 1))
    patient = [1.0] * 4 + [0.5, 0.4, 0.3, 0.2] + [9.0] + [0.1] * 7
    order = step(made, after(1, patient))[4]
    assert order.start.member == 8
    assert order.hparams["lr"] == pytest.approx(1e-4 * 9)
    greedy = [9.0] + [0.1] * 7 + [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
    order = step(made, after(4, greedy))[12]
    assert order.start.member == 0
    assert order.hparams["lr"] == pytest.approx(1e-4 * 9)  # those of the best of its own group, which is member 8


def test_a_failed_member_is_rescued_at_once_by_its_own_group():
    made = mf_pbt(plan(16), periods=(1, 4), shares=(1, 1))
    scores = [float(slot) for slot in range(15)]
    for seed in range(10):
        orders = step(made, after(1, [*scores, FAILED]), seed=seed)
        assert orders[15].why["event"] == "rescue"
        assert orders[15].start.member in range(11, 15)


def test_too_few_members_and_wrong_groups_are_refused():
    with pytest.raises(ValueError, match=r"pbt.every suits fewer"):
        mf_pbt(plan(7))
    with pytest.raises(ValueError, match="one share for each period"):
        mf_pbt(plan(8), periods=(1, 2), shares=(1, 1, 1))
    with pytest.raises(ValueError, match="a group takes 2 or more"):
        mf_pbt(plan(8), periods=(1, 2), shares=(20, 1))


@pytest.mark.parametrize("turns", [1, 2, 3, 4, 6, 9])
def test_pbt_waits_for_every_third_turn_unless_a_member_failed(turns):
    taken = moved(pbt(plan(8), every=3), after(turns, [8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, FAILED]))
    assert taken[7][0] == "rescue"
    assert (6 in taken) == (turns % 3 == 0)


def test_a_period_of_no_turns_is_refused():
    with pytest.raises(ValueError, match="every=0"):
        pbt(plan(8), every=0)
