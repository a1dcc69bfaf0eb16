"""PB2, its relatives and BG-PBT as strategies: what they propose, and that nothing makes them stumble."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory import trained
from populations import FAILED, STEPS, evolved

from evolute.core.order import Ref
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.strategies import bg_pbt, pb2, pb2_mix, pb2_mult, pb2_rand
from evolute.strategies.bayes import gp
from evolute.strategies.bayes.categories import at_random
from evolute.strategies.bayes.kernels import Pb2Kernel
from evolute.strategies.bayes.pb2_explore import Pb2Explore, _perturbed
from evolute.strategies.bayes.points import Layout
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation

NUMBERS = Space({"x": Float(0, 1), "n": Int(1, 64, log=True), "w": Ordinal(8, 16, 32, 64)})
MIXED = Space({**NUMBERS, "c": Choice("a", "b", "c"), "d": Choice(True, False)})
FOR_CATEGORIES = [pb2_rand, pb2_mult, pb2_mix, bg_pbt]
ALL = [pb2, *FOR_CATEGORIES]
outcomes = st.sampled_from([0.0, 1.0, 1e12, -1e12, 1e-300, None, FAILED])


def space_of(make):
    return NUMBERS if make is pb2 else MIXED


def plan_of(make, size=4, turns=40, space=None):
    return Plan(space or space_of(make), size, STEPS, turns)


def sampled(space, seed=0):
    """Hyper-parameters of each slot, another row each turn."""
    rng = np.random.default_rng(seed)
    return lambda slot: space.sample(rng)


def decide(strategy, population, seed=0, state=None):
    ready = range(len(population))
    state, orders = strategy.step(state or strategy.init(), population, ready, np.random.default_rng(seed))
    return json.loads(json.dumps(state, allow_nan=False)), {order.member: order for order in orders}


def test_categories_are_refused_where_they_cannot_be_used_with_the_names_of_those_that_can():
    with pytest.raises(ValueError, match=r"c, d: PB2 .* pb2_mix, pb2_mult, pb2_rand and bg_pbt"):
        pb2(plan_of(pb2, space=MIXED))
    pb2(Plan(MIXED, 4, STEPS, 40, architecture=frozenset("cd")))


@pytest.mark.parametrize("make", ALL)
@settings(max_examples=15, deadline=None)
@given(turns=st.lists(st.lists(outcomes, min_size=4, max_size=4), max_size=4), seed=st.integers(0, 99))
def test_degenerate_scores_never_make_it_stumble_or_leave_the_space(make, turns, seed):
    space = space_of(make)
    population = evolved([1.0, 2.0, 3.0, 4.0], *turns, hparams=sampled(space, seed))
    _, orders = decide(make(plan_of(make)), population, seed)
    assert all(space.contains(order.hparams) for order in orders.values())


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("scores", [[1.0, 1.0, 1.0, 1.0], [FAILED] * 4, [None] * 4, [1e308, -1e308, 1e308, 0.0]])
def test_constant_gains_and_duplicate_rows_are_fine(make, scores):
    space = space_of(make)
    same = space.sample(np.random.default_rng(0))
    population = evolved(*[scores] * 8, hparams=lambda slot: same)
    for order in decide(make(plan_of(make)), population)[1].values():
        assert space.contains(order.hparams)
        json.dumps(order.to_json(), allow_nan=False)


@pytest.mark.parametrize("make", ALL)
def test_a_proposal_records_its_predicted_gain_and_the_model_behind_it(make):
    scores = np.cumsum(np.random.default_rng(1).normal(size=(8, 4)), axis=0).tolist()
    population = evolved(*scores, hparams=sampled(space_of(make)))
    _, orders = decide(make(plan_of(make)), population)
    reasons = [order.why for order in orders.values() if order.why.get("event") == "inherit"]
    assert reasons
    for why in reasons:
        assert np.isfinite(why["gain"])
        assert why["uncertainty"] >= 0
        assert 0 < why["model"]["rows"] <= 32
        assert (why["model"]["rows"] < 32) == (make is pb2_mult)
        assert ("region" in why) == (make is bg_pbt)
        assert ("weights" in why) == (make in (pb2_mult, pb2_mix))
        json.dumps(why, allow_nan=False)


@pytest.mark.parametrize("make", ALL)
def test_heirs_of_one_parent_differ_from_it_and_from_each_other(make):
    scores = [[float(slot + turn) for slot in range(8)] for turn in range(4)]
    population = evolved(*scores, hparams=sampled(space_of(make)))
    for seed in range(3):
        strategy = make(plan_of(make, size=8), quantile=0.5)
        _, orders = decide(strategy, population, seed)
        heirs = [order for order in orders.values() if order.start.member != order.member]
        assert len(heirs) == 4
        for order in heirs:
            family = [population[order.start.member].latest.order.hparams]
            family += [other.hparams for other in heirs if other is not order and other.start == order.start]
            assert order.hparams not in family


def climb(state, hparams, steps, seed):
    """Gains are highest at x = 0.7, a little noisy; the category b is worth twice the others."""
    total = 0.0 if state is None else state["total"]
    worth = 2.0 if hparams.get("c", "b") == "b" else 1.0
    total += worth * (1 - abs(hparams["x"] - 0.7)) + np.random.default_rng(seed).normal(0, 0.02)
    return {"total": total}, {"score": total}


@pytest.mark.parametrize("make", ALL)
def test_proposals_find_the_best_place(make):
    space = Space({"x": Float(0, 1), **({} if make is pb2 else {"c": Choice("a", "b", "c")})})
    plan = Plan(space, 6, STEPS, 20)
    _, decisions = trained(climb, make(plan), plan, turns=20, seed=3)
    late = [order.hparams for orders in decisions[-6:] for order in orders if order.why.get("event") == "inherit"]
    assert np.median([abs(hparams["x"] - 0.7) for hparams in late]) < (0.2 if make is pb2_rand else 0.12)
    if make in (bg_pbt, pb2_mix, pb2_mult):
        assert np.mean([hparams["c"] == "b" for hparams in late]) > 0.4


def moved(fades, after, turns=60):
    """How far the proposals of the last turns are from an optimum that jumped at half time from 0.2 to 0.8."""
    plan = Plan(Space({"x": Float(0, 1)}), 4, STEPS, turns)

    def train(state, hparams, steps, seed):
        turn, total = (0, 0.0) if state is None else (state["turn"], state["total"])
        total += np.exp(-((hparams["x"] - (0.2 if turn < turns // 2 else 0.8)) ** 2) / 0.02)
        return {"turn": turn + 1, "total": total}, {"score": total}

    explore = Pb2Explore(STEPS, 1000, at_random(0.0), "none", lambda layout: Pb2Kernel((0, 0), fades=fades))
    strategy = Evolution(plan, truncation(0.25), explore)
    _, decisions = trained(train, strategy, plan, turns=turns // 2 + after + 3, seed=1)
    late = [order.hparams["x"] for orders in decisions[-3:] for order in orders if order.why.get("event") == "inherit"]
    return float(np.median(np.abs(np.array(late) - 0.8)))


def test_after_the_optimum_has_moved_proposals_follow_within_twelve_turns_and_without_fading_they_do_not():
    assert moved(True, after=12) < 0.15
    assert moved(False, after=12) > 0.3


@pytest.mark.parametrize("seed", range(3))
def test_pb2_mix_asks_for_the_numbers_given_the_category_that_was_picked(seed):
    """Where the best x is another in each category, an heir gets that of its own, not that of its parent's."""
    space = Space({"x": Float(0, 1), "c": Choice("low", "high")})
    rng = np.random.default_rng(seed)
    population = Population.of(4)
    total = np.zeros(4)
    for _ in range(15):
        rows = [{"x": float(rng.random()), "c": str(rng.choice(["low", "high"]))} for _ in range(4)]
        total += [1 - abs(row["x"] - (0.1 if row["c"] == "low" else 0.9)) for row in rows]
        population = evolved_further(population, total.tolist(), rows)
    found = {"low": [], "high": []}
    for draw in range(8):
        _, orders = decide(pb2_mix(Plan(space, 4, STEPS, 40), quantile=0.5), population, draw)
        for order in orders.values():
            if order.why.get("event") == "inherit":
                found[order.hparams["c"]].append(order.hparams["x"])
    assert np.median(found["low"]) < 0.4
    assert np.median(found["high"]) > 0.6


def evolved_further(population, scores, rows):
    from populations import reports_of

    return population.report(reports_of(population, scores, lambda slot: rows[slot]))


def test_context_is_the_parents_score_now_and_time_its_next_turn(monkeypatch):
    from evolute.strategies.bayes import surrogate as module

    seen = []
    bound = module.Bound
    monkeypatch.setattr(module, "Bound", lambda *given: seen.append(given[2:]) or bound(*given))
    population = evolved([1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 6.0], hparams=sampled(NUMBERS))
    decide(pb2(plan_of(pb2)), population)
    assert set(seen) == {((6.0 - 1.0) / (4.0 - 1.0), 2.0)}


def test_bg_pbt_trains_three_fresh_members_in_each_slot_and_goes_on_with_the_best():
    def train(state, hparams, steps, seed):
        return {"sum": hparams["x"]}, {"score": hparams["x"]}

    plan = Plan(Space({"x": Float(0, 1)}), 8, STEPS, 12)
    strategy = bg_pbt(plan)
    population, decisions = trained(train, strategy, plan, turns=12, seed=5)
    started = [order for orders in decisions[:3] for order in orders]
    assert [order.start for order in started] == [None] * 24
    best = sorted(started, key=lambda order: -order.hparams["x"])[:8]
    assert {order.start for order in decisions[3]} == {Ref(order.member, order.turn) for order in best}
    assert all(order.hparams == population.find(order.start).order.hparams for order in decisions[3])
    own = {order.ref.member for order in decisions[3] if order.start.member == order.member}
    assert own == {order.member for order in best}
    assert all(order.start is not None for orders in decisions[3:] for order in orders)


def test_first_turns_are_retained_until_everybody_has_chosen():
    strategy = bg_pbt(plan_of(bg_pbt, size=2, turns=20))
    population = evolved([1.0, 2.0], [3.0, 4.0], hparams=sampled(MIXED))
    assert set(strategy.retain(strategy.init(), population)) == {Ref(0, 0), Ref(1, 0), Ref(0, 1), Ref(1, 1)}
    population = evolved(*[[1.0, 2.0]] * 4, hparams=sampled(MIXED))
    assert list(strategy.retain(strategy.init(), population)) == []


def test_candidates_take_at_most_half_of_a_run_and_are_at_least_the_population():
    assert bg_pbt(plan_of(bg_pbt, turns=2)).ladder.length == 0
    assert bg_pbt(plan_of(bg_pbt, turns=4)).ladder.length == 2
    assert bg_pbt(plan_of(bg_pbt, turns=40), candidates=24).ladder.length == 6
    with pytest.raises(ValueError, match="candidates=3"):
        bg_pbt(plan_of(bg_pbt), candidates=3)


def test_the_trust_region_of_a_run_moves_with_its_rounds():
    def train(state, hparams, steps, seed):
        return {"x": 0}, {"score": 1.0 if state is None else np.random.default_rng(seed).normal()}

    plan = Plan(MIXED, 4, STEPS, 60)
    _, decisions = trained(train, bg_pbt(plan), plan, turns=60, seed=1)
    regions = [order.why["region"] for orders in decisions for order in orders if "region" in order.why]
    assert {region["restarts"] for region in regions} >= {0, 1}
    assert any(region["restarted"] for region in regions)
    assert all(0.15 <= region["side"] <= 1 for region in regions)


@pytest.mark.parametrize("make", ALL)
def test_a_thousand_rows_cost_one_large_factorisation_as_parameters_are_fitted_to_the_newest(make, monkeypatch):
    factor, sizes = gp._factor, []
    monkeypatch.setattr(gp, "_factor", lambda covariance, noise: sizes.append(len(covariance)) or factor(covariance, noise))
    rng = np.random.default_rng(0)
    space = Space({**{f"x{number}": Float(0, 1) for number in range(8)}, **({} if make is pb2 else {"c": Choice("a", "b")})})
    population = evolved(*np.cumsum(rng.normal(size=(125, 8)), axis=0).tolist(), hparams=sampled(space))
    strategy = make(plan_of(make, size=8, turns=200, space=space), rows=1000)
    _, orders = decide(strategy, population)
    assert all(space.contains(order.hparams) for order in orders.values())
    models = 2 if make is pb2_mult else 1  # one for each value of the category
    assert 1 <= sum(size > gp.NEWEST for size in sizes) <= models
    assert sum(size == gp.NEWEST for size in sizes) <= models * (gp.EVALUATIONS + 20)  # a line search may go a little over


@pytest.mark.parametrize("name", ["pb2_mix", "bg_pbt"])
def test_a_decision_takes_the_processor_time_of_one_thread_and_is_the_same_whatever_the_environment_says(name):
    def decision(threads):
        env = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")} | threads
        script = Path(__file__).with_name("one_decision.py")
        done = subprocess.run([sys.executable, str(script), name], env=env, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    single, default = decision({"OPENBLAS_NUM_THREADS": "1"}), decision({})
    assert default["seconds"] < 3 * single["seconds"]  # of all threads together: ten times and more without the limit
    assert default["orders"] == single["orders"]


def test_importing_the_strategies_loads_no_torch_and_no_jax():
    code = (
        "import sys, evolute.strategies; print([name for name in ('torch', 'jax', 'sklearn', 'scipy') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


@pytest.mark.parametrize("make", [pb2, bg_pbt])
def test_a_score_far_outside_of_all_others_stays_a_number(make):
    space = Space({"x": Float(0, 1), "y": Float(0, 1)})
    population = evolved([0.0, 1e-283, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], hparams=sampled(space))
    _, orders = decide(make(plan_of(make, size=3, turns=20, space=space)), population)
    assert all(space.contains(order.hparams) for order in orders.values())


def test_heirs_are_no_twins_where_there_is_nothing_to_learn_from():
    layout = Layout(Space({"c": Choice("a", "b"), "k": Int(1, 4)}))
    made = []
    for _ in range(4):
        child = _perturbed(layout, {"c": "a", "k": 2}, {"c": "b"}, lambda hparams: hparams in made, np.random.default_rng(0))
        assert child not in made
        made.append(child)
    assert {child["c"] for child in made} == {"b"}
