from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from populations import FAILED, STEPS, evolved, plan, step

from evolute.core.order import Order, Ref, Report
from evolute.core.param import Choice, Float, Int
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.ratings.scale import rating_difference
from evolute.strategies import pbt_marl
from evolute.strategies.pbt_marl import has_waited

WIDE = Space({name: Float(1e-6, 1e6, log=True) for name in "abcd"})
at_once = partial(pbt_marl, burn_in=0, wait=0)


def two(weak, strong, hparams=None, *, deviations=(0.0, 0.0)):
    """Two members with these ratings; the second has ten times the hyper-parameters of the first."""
    given = hparams or (lambda slot: dict.fromkeys("abcd", 10.0**slot))
    population = evolved([0.0, 0.0], hparams=given)
    return population.rated({0: (weak, deviations[0]), 1: (strong, deviations[1])})


def orders_of(population, seed=0, strategy=at_once, space=WIDE, **rules):
    return step(strategy(plan(len(population), space), **rules), population, seed)


def test_a_member_that_would_lose_takes_over_the_weights_of_the_other():
    orders = orders_of(two(0.0, 100.0))
    assert orders[0].start == Ref(1, 0)
    assert orders[0].why["event"] == "inherit"
    assert orders[1].start == Ref(1, 0)
    assert orders[1].hparams == dict.fromkeys("abcd", 10.0)


@pytest.mark.parametrize(("ahead", "inherits"), [(20.0, False), (21.5, True), (-100.0, False)])
def test_the_threshold_is_47_percent_of_games(ahead, inherits):
    assert rating_difference(0.47) == pytest.approx(-20.9, abs=0.1)
    assert (orders_of(two(0.0, ahead))[0].start.member == 1) is inherits


@pytest.mark.parametrize(
    ("deviations", "confidence", "inherits"),
    [
        ((0.0, 0.0), 0.9, True),
        ((30.0, 40.0), 0.5, True),
        ((30.0, 40.0), 0.8, True),  # 50 ahead of the threshold with a deviation of 50: one sigma, 84 %
        ((30.0, 40.0), 0.85, False),
        ((40.0, 0.0), 0.85, True),
    ],
)
def test_ratings_must_be_surer_than_the_confidence(deviations, confidence, inherits):
    population = two(0.0, 50 - rating_difference(0.47), deviations=deviations)
    assert (orders_of(population, confidence=confidence)[0].start.member == 1) is inherits


def test_without_deviations_ratings_are_taken_as_they_are():
    population = evolved([0.0, 100.0], hparams=lambda slot: dict.fromkeys("abcd", 1.0))
    assert orders_of(population, confidence=0.99)[0].start.member == 1


def test_the_other_is_drawn_uniformly_and_no_weaker_one_is_ever_taken_over():
    """The published code takes over those it would beat."""
    ratings = [0.0, 50.0, 100.0, 100.0, 10.0]
    population = evolved(ratings, hparams=lambda slot: dict.fromkeys("abcd", 1.0))
    taken = {slot: Counter() for slot in range(5)}
    for seed in range(800):
        for slot, order in orders_of(population, seed).items():
            taken[slot][order.start.member] += 1
    assert set(taken[0]) == {0, 1, 2, 3}  # 10 points are too few
    assert all(200 * 0.75 < taken[0][other] < 200 * 1.25 for other in range(4))
    assert set(taken[1]) == {1, 2, 3}
    assert set(taken[2]) == {2}


def test_each_hyper_parameter_is_inherited_and_mutated_by_a_coin_of_its_own():
    """The published code throws one coin for all."""
    inherited, mutated, low = [], [], []
    for seed in range(2000):
        hparams = orders_of(two(0.0, 100.0), seed)[0].hparams
        values = np.array([hparams[name] for name in "abcd"])
        inherited.append(values > 5)
        factor = np.where(values > 5, values / 10, values)
        mutated.append(~np.isclose(factor, 1))
        low.append(np.isclose(factor, 0.8))
        assert np.all(np.isclose(factor, 1) | np.isclose(factor, 0.8) | np.isclose(factor, 1.2))
    assert np.mean(inherited, axis=0) == pytest.approx([0.5] * 4, abs=0.03)
    assert np.mean(mutated, axis=0) == pytest.approx([0.1] * 4, abs=0.02)
    assert np.mean(low) / np.mean(mutated) == pytest.approx(0.5, abs=0.06)
    coins = np.corrcoef(np.concatenate([np.array(inherited), np.array(mutated)], axis=1).T)
    assert np.abs(coins - np.eye(8)).max() < 0.08


@pytest.mark.parametrize(("inherit", "mutate", "value"), [(1.0, 0.0, 10.0), (0.0, 0.0, 1.0), (1.0, 1.0, 30.0)])
def test_coins_and_factors_are_settings(inherit, mutate, value):
    order = orders_of(two(0.0, 100.0), inherit=inherit, mutate=mutate, factors=(3.0,))[0]
    assert order.hparams == pytest.approx(dict.fromkeys("abcd", value))
    assert order.why["inherited"] == (list("abcd") if inherit else [])
    assert order.why["mutated"] == (list("abcd") if mutate else [])


def test_architecture_comes_with_the_weights_and_bounds_hold():
    space = Space({"lr": Float(0.9, 1.05), "width": Int(1, 64), "depth": Choice(1, 2, 3)})
    mine, theirs = {"lr": 1.0, "width": 8, "depth": 1}, {"lr": 1.05, "width": 32, "depth": 3}
    population = two(0.0, 100.0, lambda slot: (mine, theirs)[slot])
    strategy = at_once(Plan(space, 2, STEPS, 50, architecture=frozenset({"width"})), inherit=0.0, mutate=1.0)
    for seed in range(30):
        hparams = step(strategy, population, seed)[0].hparams
        assert hparams["width"] == 32
        assert space.contains(hparams)


def test_a_failed_member_takes_over_another_with_all_it_has():
    population = evolved([5.0, 1.0], [FAILED, 2.0], hparams=lambda slot: dict.fromkeys("abcd", 10.0**slot))
    order = orders_of(population, mutate=0.0, inherit=0.0)[0]
    assert (order.start, order.why["event"]) == (Ref(1, 1), "rescue")
    assert order.hparams == dict.fromkeys("abcd", 10.0)


def test_a_member_that_failed_at_first_has_nothing_to_keep():
    population = evolved([FAILED, 2.0], hparams=lambda slot: dict.fromkeys("abcd", 10.0**slot))
    assert orders_of(population, mutate=0.0)[0].hparams == dict.fromkeys("abcd", 10.0)


def story(size, moves):
    """A population after these turns, each (slot, where it starts: a slot, or None for fresh, and whether it fails)."""
    population = Population.of(size)
    for slot, start, failed in moves:
        latest = population[slot if start is None else start].latest
        order = Order(slot, population[slot].turns, dict.fromkeys("abcd", 1.0), start=None if latest is None else latest.ref)
        report = Report(order, error="broken") if failed else Report(order, {"score": 100.0 * slot}, STEPS, digest="d")
        population = population.report([report])
    return population


moves = st.tuples(st.integers(0, 3), st.none() | st.integers(0, 3), st.integers(0, 4).map(lambda draw: draw == 0))


@settings(max_examples=150, deadline=None)
@given(st.lists(moves, max_size=30), st.integers(0, 4), st.integers(0, 3), st.integers(0, 1000))
def test_nobody_evolves_before_its_time_nor_takes_over_one_that_just_did(turns, burn_in, wait, seed):
    population = story(4, turns)
    trained = [slot for slot in range(4) if population[slot].last is not None]
    strategy = pbt_marl(plan(4, WIDE), burn_in=burn_in, wait=wait)
    orders = step(strategy, population, seed, ready=trained)
    for slot, order in orders.items():
        if order.why.get("event") != "inherit":
            continue
        assert population[slot].turns >= burn_in
        assert min(_since(turns, slot), _since(turns, order.start.member)) >= wait


def _since(turns, slot):
    """Turns that left a state since the slot last began from another's state, that one included."""
    since, held = 0, set()
    for mover, start, failed in turns:
        other = start is not None and start != mover and start in held
        if mover == slot and not failed:
            since = 1 if other else since + 1
        if not failed:
            held.add(mover)
    return since


def test_waiting_is_counted_in_turns_of_its_own():
    fresh = story(2, [(0, None, False), (1, None, False), (1, None, False)])
    assert [has_waited(fresh[0], turns) for turns in (0, 1, 2)] == [True, True, False]
    assert has_waited(fresh[1], 2)
    heir = story(2, [(0, None, False), (0, None, False), (1, None, False), (0, 1, False), (0, None, True), (0, None, False)])
    assert [has_waited(heir[0], turns) for turns in (1, 2, 3)] == [True, True, False]


def test_by_default_members_train_for_five_intervals_first():
    for turns, inherits in ((4, False), (5, True)):
        population = evolved(*[[0.0, 100.0]] * turns, hparams=lambda slot: dict.fromkeys("abcd", 1.0))
        assert (orders_of(population, strategy=pbt_marl)[0].start.member == 1) is inherits


@pytest.mark.parametrize(
    ("rules", "word"), [({"inherit": 1.1}, "inherit=1.1"), ({"mutate": -1}, "mutate=-1"), ({"select": 1.0}, "select=1.0")]
)
def test_settings_out_of_range_are_refused(rules, word):
    with pytest.raises(ValueError, match=word):
        pbt_marl(plan(2), **rules)


def test_one_member_and_members_without_ratings_go_on_by_themselves():
    assert orders_of(evolved([1.0], hparams=lambda slot: dict.fromkeys("abcd", 1.0)))[0].start == Ref(0, 0)
    unrated = orders_of(evolved([None, 5.0, None], hparams=lambda slot: dict.fromkeys("abcd", 1.0)))
    assert [order.start.member for order in unrated.values()] == [0, 1, 2]
