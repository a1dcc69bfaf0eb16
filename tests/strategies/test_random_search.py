from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from populations import FAILED, SPACE, evolved, hparams_of, plan, step

from evolute.core.order import Ref
from evolute.strategies import random_search

outcomes = st.floats(-10, 10) | st.just(FAILED) | st.none()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(outcomes, min_size=4, max_size=4), min_size=1, max_size=5), st.integers(0, 1000))
def test_nobody_ever_inherits(rounds, seed):
    orders = step(random_search(plan(4)), evolved(*rounds), seed)
    assert all(order.start is None or order.start.member == slot for slot, order in orders.items())


def test_members_keep_the_hparams_they_started_with():
    population = evolved([1.0, 2.0, 3.0], [3.0, None, 1.0])
    orders = step(random_search(plan(3)), population)
    assert {slot: (order.start, order.hparams) for slot, order in orders.items()} == {
        slot: (Ref(slot, 1), hparams_of(slot)) for slot in range(3)
    }


@pytest.mark.parametrize(
    ("past", "start"),
    [
        ([1.0, FAILED], Ref(0, 0)),
        ([1.0, FAILED, FAILED], None),
        ([1.0, FAILED, FAILED, FAILED], None),
        ([1.0, FAILED, 2.0], Ref(0, 2)),
        ([1.0, FAILED, 2.0, FAILED], Ref(0, 2)),
        ([1.0, 2.0, FAILED, 3.0, FAILED, FAILED], None),
        ([FAILED], None),
        ([FAILED, FAILED], None),
    ],
    ids=str,
)
def test_a_failed_member_tries_again_from_its_own_state_and_after_two_failures_restarts(past, start):
    population = evolved(*[[score, 5.0] for score in past])
    order = step(random_search(plan(2)), population)[0]
    assert (order.start, order.turn) == (start, len(past))
    assert SPACE.contains(order.hparams)
    assert (order.hparams == hparams_of(0)) is (start is not None)


def test_a_member_that_restarts_does_not_repeat_what_the_plan_gave_it_first():
    first = (hparams_of(0), hparams_of(1))
    order = step(random_search(plan(2, first=first)), evolved([1.0, 5.0], [FAILED, 5.0], [FAILED, 5.0]))[0]
    assert order.hparams["lr"] != hparams_of(0)["lr"]
    assert order.hparams["entropy"] != hparams_of(0)["entropy"]
