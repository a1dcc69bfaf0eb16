from __future__ import annotations

import math
import random

import pytest

from evolute.core.order import Order, Ref, Report
from evolute.core.population import Population, best, descent

FAILED = object()


def turn(population, slot, score, *, start="own", steps=10):
    """The population after one more turn of one member; `score` may be None (no episode ended) or FAILED."""
    latest = population[slot].latest
    ref = (None if latest is None else latest.ref) if start == "own" else start
    order = population.draft(slot, {"lr": 0.1}, start=ref)
    running = population.order([order])
    if score is FAILED:
        return running.report([Report(order, error="Traceback\nValueError: broken")])
    return running.report([Report(order, {"score": score}, steps, digest=f"{slot}-{order.turn}")])


def grown(size, *turns):
    population = Population.of(size)
    for slot, score in turns:
        population = turn(population, slot, score)
    return population


def seen(population):
    """Everything that can be read off a population, as plain values."""
    return [
        (
            member.slot,
            member.running,
            member.turns,
            member.steps,
            member.failed,
            member.latest and member.latest.ref,
            [(one.order, one.report, one.score, one.steps, one.parent and one.parent.ref) for one in member.history()],
        )
        for member in population.members
    ]


def test_a_new_population_has_idle_members_without_state():
    population = Population.of(3)
    assert len(population) == 3
    assert [member.slot for member in population.members] == [0, 1, 2]
    assert population.running == []
    assert all(member.turns == 0 and member.latest is None and not member.failed for member in population.members)
    assert best(population) is None


def test_an_ordered_member_runs_until_its_report_comes_in():
    population = Population.of(3)
    orders = [population.draft(slot, {}) for slot in (0, 2)]
    running = population.order(orders)
    assert running.running == orders
    assert running[1].running is None
    after = running.report([Report(orders[1], {"score": 1.0}, 10)])
    assert after.running == [orders[0]]
    assert after[2].latest.ref == Ref(2, 0)


def test_a_population_is_never_changed_by_ordering_or_reporting():
    population = grown(2, (0, 1.0), (1, 2.0), (0, FAILED))
    before = seen(population)
    order = population.draft(0, {"lr": 0.2}, start=Ref(1, 0))
    running = population.order([order])
    ordered = seen(running)
    running.report([Report(order, {"score": 5.0}, 10)])
    assert seen(population) == before
    assert seen(running) == ordered
    with pytest.raises(AttributeError):
        population.members = ()
    with pytest.raises(AttributeError):
        population[0].steps = 1


def test_the_order_of_reports_within_a_turn_does_not_matter():
    population = grown(5, *[(slot, float(slot)) for slot in range(5)])
    orders = [population.draft(slot, {}, start=Ref((slot + 1) % 5, 0)) for slot in range(5)]
    reports = [Report(order, {"score": order.member / 2}, 10) for order in orders]
    reports[3] = Report(orders[3], error="broken")
    expected = seen(population.order(orders).report(reports))
    for seed in range(10):
        shuffled = random.Random(seed).sample(reports, 5)
        assert seen(population.order(orders).report(shuffled)) == expected
        one_by_one = population.order(orders)
        for report in shuffled:
            one_by_one = one_by_one.report([report])
        assert seen(one_by_one) == expected


def test_a_turn_without_an_episode_keeps_the_score_of_the_state_it_continued():
    population = grown(2, (0, 3.0), (1, 7.0), (0, None))
    assert population[0].latest.score == 3.0
    heir = turn(population, 0, None, start=Ref(1, 0))
    assert heir[0].latest.score == 7.0
    assert turn(heir, 0, None)[0].latest.score == 7.0
    assert turn(heir, 0, 0.0)[0].latest.score == 0.0
    assert turn(heir, 0, None, start=None)[0].latest.score is None
    assert heir[0].latest.report.metrics == {"score": None}


def test_a_failed_turn_leaves_the_latest_state_and_counts_as_a_turn():
    population = grown(1, (0, 3.0), (0, FAILED))
    member = population[0]
    assert member.failed
    assert (member.last.ref, member.last.failed, member.last.score) == (Ref(0, 1), True, None)
    assert (member.latest.ref, member.latest.score) == (Ref(0, 0), 3.0)
    assert (member.turns, member.steps) == (2, 10)
    again = turn(population, 0, 4.0)[0]
    assert not again.failed
    assert again.latest.ref == Ref(0, 2)
    assert again.latest.parent.ref == Ref(0, 0)


def test_a_member_whose_first_turn_failed_has_no_state():
    member = grown(1, (0, FAILED))[0]
    assert member.failed
    assert member.latest is None
    assert best(grown(1, (0, FAILED))) is None


def test_drafts_are_numbered_by_the_turns_of_their_slot():
    population = grown(2, (0, 1.0), (0, FAILED), (0, 2.0))
    assert population.draft(0, {}) == Order(0, 3, {})
    assert population.draft(1, {"lr": 0.5}, start=Ref(0, 2), event="inherit") == Order(
        1, 0, {"lr": 0.5}, start=Ref(0, 2), why={"event": "inherit"}
    )


def test_descent_follows_inheritance_and_history_follows_the_slot():
    population = grown(2, (0, 1.0), (1, 2.0), (0, 1.5), (1, 2.5))
    population = turn(population, 0, 3.0, start=Ref(1, 1))
    population = turn(population, 0, 3.5)
    assert [one.ref for one in descent(population[0].latest)] == [(0, 3), (0, 2), (1, 1), (1, 0)]
    assert [one.score for one in descent(population[0].latest)] == [3.5, 3.0, 2.5, 2.0]
    assert [one.ref for one in population[0].history()] == [(0, 3), (0, 2), (0, 1), (0, 0)]
    assert [one.ref for one in descent(turn(population, 1, 1.0, start=None)[1].latest)] == [(1, 2)]


def test_steps_count_along_the_line_of_descent_and_per_slot():
    population = Population.of(2)
    for slot, steps in ((0, 5), (1, 100), (0, 5)):
        population = turn(population, slot, 1.0, steps=steps)
    population = turn(population, 0, 1.0, start=Ref(1, 0), steps=7)
    assert population[0].latest.steps == 107
    assert population[0].steps == 17


def test_find_gives_any_finished_turn_and_says_which_one_is_missing():
    population = grown(2, (0, 1.0), (0, 2.0), (1, FAILED), (0, 3.0))
    assert [population.find(Ref(0, number)).score for number in range(3)] == [1.0, 2.0, 3.0]
    assert population.find(Ref(1, 0)).failed
    running = population.order([population.draft(0, {})])
    for missing in (Ref(0, 3), Ref(1, 1)):
        with pytest.raises(KeyError, match=f"member {missing.member} after turn {missing.turn}"):
            running.find(missing)


@pytest.mark.parametrize(
    ("scores", "winner"),
    [
        ([1.0, 3.0, 2.0], 1),
        ([2.0, 2.0, 1.0], 0),
        ([1.0, 2.0, 2.0], 1),
        ([-3.0, -1.0, -2.0], 1),
        ([-1.0, 0.0, 0.0], 1),
        ([-1.0, None, -2.0], 0),
        ([None, FAILED, -2.0], 2),
        ([math.nan, 1.0, 2.0], 2),
    ],
)
def test_the_best_turn_has_the_highest_score_and_ties_go_to_the_lower_slot(scores, winner):
    assert best(grown(3, *enumerate(scores))).order.member == winner


def test_a_member_that_failed_since_may_still_have_the_best_state():
    assert best(grown(2, (0, 5.0), (1, 2.0), (0, FAILED))).ref == Ref(0, 0)


def test_old_turns_are_found_in_a_few_hops():
    population = Population.of(1)
    for turn in range(3000):
        order = Order(0, turn, {})
        population = population.order([order]).report([Report(order, {"score": float(turn)})])
    for wanted in (0, 1, 2, 1023, 1499, 2998, 2999):
        assert population.find(Ref(0, wanted)).score == wanted
    newest, hops = population[0].last, 0
    while newest.order.turn > 7:
        newest, hops = newest.jump if newest.jump.order.turn >= 7 else newest.before, hops + 1
    assert hops < 40
    with pytest.raises(KeyError, match="no finished turn"):
        population.find(Ref(0, 3000))


def test_a_rating_becomes_the_score_of_the_latest_turn_and_is_inherited():
    population = Population.of(2)
    first = [Order(slot, 0, {}) for slot in (0, 1)]
    population = population.order(first).report([Report(order, {"score": None}) for order in first])
    assert [member.latest.score for member in population.members] == [None, None]
    second = [
        Order(0, 1, {}, Ref(0, 0), why={"rating": [120.0, 30.0]}),
        Order(1, 1, {}, Ref(0, 0), why={"rating": [-5.0, 9.0]}),
    ]
    population = population.order(second).report([Report(order, {"score": None}) for order in second])
    assert [(m.latest.score, m.latest.deviation) for m in population.members] == [(120.0, 30.0), (120.0, 30.0)]
    assert [m.latest.before.score for m in population.members] == [120.0, -5.0]
