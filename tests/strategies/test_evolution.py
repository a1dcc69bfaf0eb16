from __future__ import annotations

import json
import math
import random
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory import trained
from populations import FAILED, SPACE, STEPS, evolved, hparams_of, plan, reports_of, step

from evolute.core.order import Ref
from evolute.core.param import Float, Ordinal
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.strategies import bg_pbt, pb2, pb2_mix, pb2_mult, pb2_rand, pbt, random_search, winner_takes_all


def bg_pbt_at_once(plan, **settings):
    """BG-PBT with no more candidates than slots."""
    return bg_pbt(plan, candidates=plan.size, **settings)


EVOLVING = [
    pbt,
    partial(pbt, exploit="tournament"),
    partial(pbt, exploit="welch"),
    partial(pbt, explore="resample"),
    partial(pbt, explore="none"),
    winner_takes_all,
    pb2,
    pb2_rand,
    pb2_mult,
    pb2_mix,
    bg_pbt_at_once,
]
ALL = [*EVOLVING, partial(pbt, exploit="none"), random_search]
outcomes = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6) | st.just(FAILED) | st.none()
rounds = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.lists(outcomes, min_size=size, max_size=size), min_size=1, max_size=4)
)


@pytest.mark.parametrize("make", ALL)
@settings(max_examples=40, deadline=None)
@given(turns=rounds, seed=st.integers(0, 2**32 - 1))
def test_orders_keep_the_laws_whatever_has_happened(make, turns, seed):
    population = evolved(*turns)
    strategy = make(plan(len(population)))
    for slot, order in step(strategy, population, seed).items():
        assert SPACE.contains(order.hparams)
        assert order.turn == len(turns)
        assert order.start is None or not population.find(order.start).failed
        assert (order.steps, order.seed, order.own) == (0, 0, None)
        if order.start is not None and order.start.member == slot:
            assert order.hparams == hparams_of(slot)


@pytest.mark.parametrize("make", ALL)
@settings(max_examples=20, deadline=None)
@given(turns=rounds, seed=st.integers(0, 2**32 - 1))
def test_a_decision_is_a_pure_function_of_population_and_rng(make, turns, seed):
    strategy, twin = make(plan(len(turns[0]))), make(plan(len(turns[0])))
    population = evolved(*turns)
    orders = step(strategy, population, seed)
    step(strategy, evolved([1.0, 2.0, 3.0]), seed + 1)
    assert step(strategy, population, seed) == orders
    assert step(twin, evolved(*turns), seed) == orders


@pytest.mark.parametrize("make", ALL)
@settings(max_examples=20, deadline=None)
@given(turns=rounds, seed=st.integers(0, 2**32 - 1))
def test_a_decision_does_not_depend_on_the_order_in_which_reports_arrived(make, turns, seed):
    strategy = make(plan(len(turns[0])))
    shuffled = Population.of(len(turns[0]))
    for scores in turns:
        reports = reports_of(shuffled, scores)
        random.Random(seed).shuffle(reports)
        for report in reports:
            shuffled = shuffled.report([report])
    assert step(strategy, shuffled, seed) == step(strategy, evolved(*turns), seed)


@pytest.mark.parametrize("make", ALL)
def test_randomness_comes_from_the_rng_alone(make):
    strategy = make(plan(4))
    decisions = [step(strategy, Population.of(4), seed) for seed in range(3)]
    assert decisions[0] != decisions[1] != decisions[2]
    np.random.seed(0)
    once = step(strategy, Population.of(4), 5)
    np.random.seed(1)
    assert step(strategy, Population.of(4), 5) == once


@pytest.mark.parametrize("make", ALL)
def test_the_state_is_json_and_nothing_else_is_retained(make):
    strategy = make(plan(3))
    assert json.loads(json.dumps(strategy.init())) == strategy.init()
    assert list(strategy.retain(strategy.init(), evolved([1.0, 2.0, 3.0]))) == []


@pytest.mark.parametrize("make", ALL)
def test_the_first_orders_init_every_member_with_hparams_of_its_own(make):
    orders = step(make(plan(6)), Population.of(6))
    assert all(order.start is None and order.turn == 0 for order in orders.values())
    assert len({order.hparams["lr"] for order in orders.values()}) == 6


@pytest.mark.parametrize("make", ALL)
def test_the_first_members_start_where_the_plan_says_and_the_rest_is_drawn(make):
    strategy = make(plan(3, first=({"lr": 1e-3, "entropy": 0.05}, {"lr": 1e-4})))
    orders = step(strategy, Population.of(3))
    assert orders[0].hparams == {"lr": 1e-3, "entropy": 0.05}
    assert orders[1].hparams["lr"] == 1e-4
    assert SPACE.contains(orders[1].hparams)
    assert orders[2].hparams["lr"] not in (1e-3, 1e-4)


@pytest.mark.parametrize("make", ALL)
def test_a_member_that_begins_late_gets_fresh_weights(make):
    orders = step(make(plan(3)), evolved([1.0, "idle", 2.0]), ready=[1])
    assert orders[1].start is None
    assert orders[1].turn == 0


@pytest.mark.parametrize("make", ALL)
def test_only_ready_members_get_orders(make):
    assert list(step(make(plan(4)), evolved([1.0, 2.0, 3.0, 4.0]), ready=[0, 2])) == [0, 2]
    assert step(make(plan(4)), evolved([1.0, 2.0, 3.0, 4.0]), ready=[]) == {}


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("space", [Space({}), Space({"h": Float(0, 1)})], ids=["empty", "one"])
def test_any_space_and_a_population_of_one_will_do(make, space):
    hparams = dict.fromkeys(space, 0.5)
    for turns in ([[1.0]], [[1.0], [2.0]], [[1.0, 2.0, 3.0, 4.0]], [[1.0, 2.0, FAILED, None]]):
        population = evolved(*turns, hparams=lambda slot: hparams)
        orders = step(make(plan(len(population), space)), population)
        assert all(space.contains(order.hparams) for order in orders.values())


@pytest.mark.parametrize("make", ALL)
def test_a_member_alone_trains_on(make):
    order = step(make(plan(1)), evolved([1.0], [2.0]))[0]
    assert (order.start, order.hparams) == (Ref(0, 1), hparams_of(0))


@pytest.mark.parametrize("make", EVOLVING)
def test_heirs_start_from_the_parents_latest_state_and_hparams_all_others_from_their_own(make):
    scores = [[3.0, 0.0, 2.0, 1.0, 4.0, 5.0, 7.0, 6.0], [3.1, 0.1, 2.1, 1.1, 4.1, 5.1, 7.1, 6.1]]
    population = evolved(*scores)
    heirs = 0
    for seed in range(20):
        for slot, order in step(make(plan(8)), population, seed).items():
            assert order.start.turn == 1
            if order.start.member == slot:
                assert order.hparams == hparams_of(slot)
            else:
                heirs += 1
                assert scores[-1][order.start.member] > scores[-1][slot]
    assert heirs >= 20


@pytest.mark.parametrize("make", [partial(pbt, resample=0.0, quantile=0.5), winner_takes_all])
def test_heirs_move_away_from_their_parents_values_not_from_their_own(make):
    population = evolved([float(slot) for slot in range(4)])
    moved = []
    for seed in range(20):
        orders = step(make(plan(4)), population, seed)
        moved += [order.hparams["lr"] / hparams_of(order.start.member)["lr"] for slot, order in orders.items() if slot < 2]
    assert {round(ratio, 6) for ratio in moved} == {0.8, 1.2}


def test_without_explore_heirs_take_over_the_hparams_as_they_are():
    population = evolved([1.0, 2.0, 3.0, 4.0])
    orders = step(pbt(plan(4), quantile=0.5, explore="none"), population)
    assert all(orders[slot].start.member in (2, 3) for slot in (0, 1))
    assert all(order.hparams == hparams_of(order.start.member) for order in orders.values())


@pytest.mark.parametrize("make", EVOLVING)
@pytest.mark.parametrize("failures", [1, 2, 5, 7])
def test_every_failed_member_is_rescued_from_one_that_is_well(make, failures):
    good = [float(slot) + 1 for slot in range(8 - failures)]
    for scores in ([*good, *[FAILED] * failures], [*[FAILED] * failures, *good]):
        population = evolved([float(slot) for slot in range(8)], scores)
        for seed in range(10):
            orders = step(make(plan(8)), population, seed)
            for slot, score in enumerate(scores):
                if score == FAILED:
                    donor = orders[slot].start.member
                    assert scores[donor] != FAILED
                    assert orders[slot].start.turn == 1


@pytest.mark.parametrize("make", [pbt, partial(pbt, exploit="welch")])
def test_beyond_the_bottom_quarter_failed_members_are_rescued_from_the_better_half(make):
    scores = [3.0, FAILED, 1.0, FAILED, 4.0, FAILED, 2.0, FAILED]
    donors = set()
    for seed in range(40):
        orders = step(make(plan(8)), evolved(scores), seed)
        donors |= {orders[slot].start.member for slot in (1, 3, 5, 7)}
    assert donors == {0, 4}


def test_a_rescue_is_an_exploration_too():
    population = evolved([1.0, 2.0, 3.0, 4.0], [4.0, FAILED, FAILED, FAILED])
    orders = step(pbt(plan(4)), population)
    lines = [tuple(orders[slot].hparams.values()) for slot in (1, 2, 3)]
    assert len({*lines, tuple(hparams_of(0).values())}) == 4


@pytest.mark.parametrize("make", EVOLVING)
def test_a_failed_member_is_rescued_before_burn_in_too(make):
    order = step(make(plan(4), burn_in=1000), evolved([1.0, FAILED, 3.0, 4.0]))[1]
    assert order.start is not None
    assert order.start.member != 1


@pytest.mark.parametrize("make", [partial(pbt, quantile=0.5), winner_takes_all])
@pytest.mark.parametrize(("turns", "evolves"), [(1, False), (2, False), (3, True), (4, True)])
def test_nobody_evolves_before_burn_in(make, turns, evolves):
    population = evolved(*[[1.0, 2.0]] * turns)
    order = step(make(plan(2), burn_in=3 * STEPS), population)[0]
    assert order.start == Ref(1 if evolves else 0, turns - 1)
    assert (order.hparams == hparams_of(0)) is not evolves


@pytest.mark.parametrize("make", EVOLVING)
def test_where_all_have_failed_everybody_restarts(make):
    orders = step(make(plan(3)), evolved([FAILED] * 3))
    assert all(order.start is None and order.turn == 1 for order in orders.values())
    assert len({order.hparams["lr"] for order in orders.values()}) == 3


@pytest.mark.parametrize("make", EVOLVING)
def test_without_a_donor_a_failed_member_tries_again_from_its_own_state_then_afresh(make):
    once = step(make(plan(2)), evolved([1.0, 2.0], [FAILED, FAILED]))
    assert [(order.start, order.hparams) for order in once.values()] == [(Ref(slot, 0), hparams_of(slot)) for slot in (0, 1)]
    twice = step(make(plan(2)), evolved([1.0, 2.0], [FAILED, FAILED], [FAILED, FAILED]))
    assert [order.start for order in twice.values()] == [None, None]
    assert all(order.hparams != hparams_of(slot) for slot, order in twice.items())


@pytest.mark.parametrize("make", EVOLVING)
def test_architecture_comes_along_with_the_weights_and_is_drawn_with_fresh_ones(make):
    space = Space({"lr": Float(1e-5, 1e-2, log=True), "width": Ordinal(8, 16, 32, 64, 128)})
    built = Plan(space, 4, STEPS, first=(), architecture=frozenset({"width"}))
    widths = {0: 8, 1: 16, 2: 32, 3: 64}
    rounds = [[1.0 + noise, FAILED, 5.0 + noise, 9.0 + noise] for noise in (0.0, 0.1, 0.2, 0.3)]
    population = evolved([1.0] * 4, *rounds, hparams=lambda slot: {"lr": 1e-4 * (slot + 1), "width": widths[slot]})
    heirs = 0
    for seed in range(30):
        for slot, order in step(make(built), population, seed).items():
            heirs += order.start.member != slot
            assert order.hparams["width"] == widths[order.start.member]
            assert space.contains(order.hparams)
    assert heirs >= 30
    drawn = {step(make(built), Population.of(4), seed)[0].hparams["width"] for seed in range(60)}
    assert drawn == {8, 16, 32, 64, 128}


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("bad", [math.nan, math.inf, "raise"])
def test_members_that_return_nan_or_raise_never_end_a_run_and_are_replaced(make, bad):
    def train(state, hparams, steps, seed):
        age = 0 if state is None else state["age"]
        broken = seed % 5 == 0 and age > 0
        if broken and bad == "raise":
            raise RuntimeError("broken")
        return {"age": age + 1}, {"score": bad if broken else hparams["lr"]}

    failed = 0
    for seed in range(5):
        population, decisions = trained(train, make(plan(6)), plan(6), turns=12, seed=seed)
        assert [member.turns for member in population.members] == [12] * 6
        for orders in decisions[1:]:
            for order in orders:
                before = population.find(Ref(order.member, order.turn - 1))
                failed += before.failed
                if before.failed and make in EVOLVING:
                    assert order.start is not None
                    assert order.start.member != order.member
    assert failed > 10
