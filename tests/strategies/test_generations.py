"""New generations: when they begin, whom they try, how they are taught and thinned out, and who is left."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from evolute.core.order import Ref
from evolute.core.param import Choice, Float, Ordinal
from evolute.core.population import Population, best, descent
from evolute.core.protocols import LinkError, Plan
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.simulated import simulated
from evolute.strategies import bg_pbt
from evolute.strategies.bayes.architectures import tried_so_far
from evolute.strategies.bayes.rows import newest_rows
from evolute.strategies.generations import ladder_of, lesson
from evolute.testing.memory import rehearse

SPACE = Space({"h": Float(0, 1), "width": Ordinal(1, 2, 3, 4, 5), "act": Choice("a", "b")})
ARCHITECTURE = ("width", "act")
SIZE, TURNS, TAUGHT = 4, 40, 5
COST = ladder_of(TAUGHT).length


def plan_of(turns=TURNS, size=SIZE, links=("teacher",)):
    return Plan(SPACE, size, 1, turns, architecture=frozenset(ARCHITECTURE), links=frozenset(links))


def learn(state, hparams, steps, seed, *, teacher=None):
    """Wider is better, in the end; a teacher brings its skill along."""
    skill = 0.0 if state is None else state["skill"]
    top = hparams["width"] / 5
    skill += 0.2 * (1 - abs(hparams["h"] - 0.5)) * (top - skill)
    if teacher is not None:
        skill += 0.5 * teacher.weight_at(0.5) * max(min(teacher.state["skill"], top) - skill, 0)
    return {"skill": skill}, {"score": skill + np.random.default_rng(seed).normal(0, 0.001)}


def ungifted(state, hparams, steps, seed, *, teacher=None):
    """Students never get anywhere; what began without a teacher does."""
    born_taught = teacher is not None if state is None else state["taught"]
    skill = 0.0 if state is None else state["skill"]
    skill += 0.0 if born_taught else 0.1
    return {"skill": skill, "taught": born_taught}, {"score": skill - seed % 1000 * 1e-6}


def trained(train=learn, turns=TURNS, size=SIZE, barrier=True, seed=1, durations=(1,), **settings):
    settings = {"generations": 2, "patience": 3, "longest": 4, "taught": TAUGHT, **settings}
    plan = plan_of(turns, size)
    made = rehearse(
        adapt(train), bg_pbt(plan, **settings), plan, lambda worker: simulated(worker, None, durations=list(durations)),
        turns=turns, seed=seed, barrier=barrier,
    )  # fmt: skip
    states = [body for kind, _, body in map(json.loads, [one for one in made.journal.lines if '"decision"' in one]) if kind]
    return made.population, made.journal.decisions, states


usual = cache(trained)
MODES = [{}, {"barrier": False, "durations": (4, 5, 6, 7), "turns": 60}]


def turns_of(population, generation=None):
    turns = [turn for member in population.members for turn in member.history()]
    return [turn for turn in turns if generation is None or turn.order.why.get("generation") == generation]


def firsts(states):
    """The turn of each slot at which each generation began."""
    return states[-1]["first"]


@pytest.mark.parametrize("mode", MODES)
def test_no_state_is_ever_missed_and_every_generation_trains_the_turns_it_says(mode):
    population, _, states = usual(**mode)
    assert not any(turn.failed for turn in turns_of(population))
    assert len(firsts(states)) == 3
    for generation, first in enumerate(firsts(states)[1:], 1):
        for member in population.members:
            climbing = [t for t in turns_of(population, generation) if t.ref.member == member.slot and t.order.why["rung"] < 3]
            assert sorted(t.order.turn - first[member.slot] for t in climbing) == list(range(COST))
            (chosen,) = [t for t in turns_of(population, generation) if t.ref == Ref(member.slot, first[member.slot] + COST)]
            assert chosen.order.why["event"] == "chosen"


@pytest.mark.parametrize("mode", MODES)
def test_each_rung_has_its_number_of_students_and_in_the_end_each_slot_has_one(mode):
    population, _, _ = usual(**mode)
    for generation in (1, 2):
        events = Counter((turn.order.why["rung"], turn.order.why.get("event")) for turn in turns_of(population, generation))
        assert events[0, "student"] == 3 * SIZE
        assert events[1, "promoted"] == 2 * SIZE
        assert events[2, "promoted"] == SIZE
        assert events[3, "chosen"] == SIZE


def test_the_best_of_each_rung_go_on():
    population, _, _ = usual()
    ladder = ladder_of(TAUGHT)
    for rung in (1, 2):
        turns = turns_of(population, 1)
        begun = min(turn.order.turn for turn in turns)
        ended = [turn for turn in turns if turn.order.turn - begun in ladder.ends(rung - 1)]
        taken = {turn.order.start for turn in turns if turn.order.why["rung"] == rung and turn.order.why.get("event")}
        best = sorted(ended, key=lambda turn: -turn.score)[: len(taken)]
        assert taken == {turn.ref for turn in best}


@pytest.mark.parametrize("mode", MODES)
def test_a_generation_has_three_students_of_each_architecture_by_all_three_sources(mode):
    population, _, states = usual(**mode)
    for generation in (1, 2):
        students = [turn.order for turn in turns_of(population, generation) if turn.order.why.get("event") == "student"]
        kinds = Counter(tuple(order.hparams[name] for name in ARCHITECTURE) for order in students)
        assert list(kinds.values()) == [3] * SIZE
        by = Counter(order.why["by"] for order in students)
        best = len({repr(one) for one in best_architectures(population, firsts(states)[:generation])})
        assert by == Counter({"best": 3 * best, "model": 6, "random": 6 - 3 * best})
        assert all(0 < order.why["expected"] < 1 and order.why["uncertainty"] > 0 for order in students)
        members = {turn.order.hparams["h"] for turn in turns_of(population) if turn.order.why.get("generation") != generation}
        for order in students:
            assert (order.hparams["h"] in members) == (order.why["by"] != "random")


def best_architectures(population, first):
    tried = tried_so_far(population, first, ARCHITECTURE)
    for generation in range(len(first)):
        yield max((one for one in tried if one.generation == generation), key=lambda one: one.score).architecture


def test_a_score_is_booked_for_the_architecture_that_reached_it():
    population, _, states = usual()
    first = firsts(states)
    for one in tried_so_far(population, first, ARCHITECTURE):
        begun, ended = first[one.generation][0], (*(row[0] for row in first[1:]), TURNS)[one.generation]
        own = [
            turn.score
            for turn in turns_of(population)
            if begun <= turn.order.turn < ended and one.architecture.items() <= turn.order.hparams.items()
        ]
        assert one.score == max(own)


@pytest.mark.parametrize("mode", MODES)
def test_students_are_taught_by_the_best_member_and_less_with_age_through_all_rungs(mode):
    population, _, _ = usual(**mode)
    taught = [turn for turn in turns_of(population) if turn.order.teacher is not None]
    assert len(taught) == 2 * COST * SIZE
    for turn in taught:
        line = list(descent(turn))
        age = len(line) - 1
        assert turn.order.teacher_weight == lesson(age, TAUGHT)
        assert {one.order.teacher for one in line} == {turn.order.teacher}
        assert line[-1].order.start is None
    for generation in (1, 2):
        (teacher,) = {turn.order.teacher for turn in taught if turn.order.why["generation"] == generation}
        if not mode:
            before = [t for t in turns_of(population) if t.order.turn == teacher.turn]
            assert population.find(teacher).score == max(turn.score for turn in before)


def test_a_teacher_counts_fully_at_first_and_ever_less():
    weights = [lesson(age, 12) for age in range(12)]
    assert weights[0][0] == 1.0
    assert all(one[1] == other[0] for one, other in pairwise(weights))
    assert all(first >= last for first, last in weights)
    assert weights[-1] == (0.05, 0.05)
    assert lesson(4, 10) == pytest.approx((0.525, 0.40625))


@pytest.mark.parametrize("mode", MODES)
def test_a_generation_that_fails_costs_turns_but_never_the_best_member(mode):
    population, _, states = trained(ungifted, **mode)
    generation = firsts(states)[1]
    (teacher,) = {turn.order.teacher for turn in turns_of(population, 1)} - {None}
    chosen = [turn for turn in turns_of(population, 1) if turn.order.why.get("event") == "chosen"]
    assert [turn.order.start for turn in chosen].count(teacher) == 1
    assert max(member.latest.score for member in population.members) > population.find(teacher).score
    assert all(turn.order.turn == generation[turn.ref.member] + COST for turn in chosen)


def test_the_best_never_falls_while_a_generation_is_taught():
    """The teacher counts until every slot has trained its member, so a run may end at any turn."""
    population, _, states = trained(ungifted)
    moments = [until(population, turns).keeping(states[turns - 1]) for turns in range(1, TURNS + 1)]
    scores = [best(moment).score for moment in moments]
    assert all(after > before - 0.002 for before, after in pairwise(scores))
    begun = firsts(states)[1][0]
    taught = [len(moment.archive) for moment in moments]
    assert taught[begun : begun + COST + 2] == [*([1] * (COST + 1)), 0]
    assert sum(taught) == 2 * (COST + 1)


def test_the_model_and_the_trust_region_of_a_generation_know_that_generation_alone():
    population, decisions, states = usual()
    first = firsts(states)[-1]
    rows = newest_rows(population, interval=1, limit=1000, since=first)
    assert len(rows) == sum(turn.order.turn >= first[turn.ref.member] for turn in turns_of(population))
    inherited = [o for orders in decisions for o in orders if o.turn > first[0] and o.why.get("event") == "inherit"]
    assert inherited
    assert inherited[0].why["region"]["side"] == 0.4
    assert inherited[0].why["model"]["rows"] == SIZE * (inherited[0].turn - first[0])
    assert states[first[0]]["evolution"]["proposed"] == []


@pytest.mark.parametrize(("settings", "begun"), [({"patience": 4, "longest": 99}, 8), ({"patience": 99, "longest": 6}, 10)])
def test_a_generation_begins_when_there_is_no_new_best_for_a_while_or_after_the_longest_time(settings, begun):
    """Three turns of candidates and one of their own: from then on nothing ever improves."""

    def flat(state, hparams, steps, seed, *, teacher=None):
        return {}, {"score": 1.0}

    _, _, states = trained(flat, **settings)
    assert firsts(states)[1] == [begun] * SIZE


def test_a_generation_that_improves_is_left_alone_until_the_longest_time():
    def rising(state, hparams, steps, seed, *, teacher=None):
        age = 0 if state is None else state["age"]
        return {"age": age + 1}, {"score": float(age)}

    _, _, states = trained(rising, patience=2, longest=12)
    assert firsts(states)[1] == [16] * SIZE


@pytest.mark.parametrize(("turns", "expected"), [(4 + 3 + COST + 5, 1), (4 + 3 + COST + 4, 0)])
def test_no_generation_begins_that_cannot_finish(turns, expected):
    def flat(state, hparams, steps, seed, *, teacher=None):
        return {}, {"score": 1.0}

    _, _, states = trained(flat, turns=turns)
    assert len(firsts(states)) - 1 == expected
    strategy = bg_pbt(plan_of(turns), generations=2, patience=3, taught=TAUGHT)
    assert ("at most 1 of 2" if expected else "none can finish") in strategy.advice()[-1]


def test_a_run_that_gets_more_turns_goes_on_with_the_generation_that_it_had_begun():
    strategy, longer = (bg_pbt(plan_of(turns), generations=1, patience=3) for turns in (TURNS, 3 * TURNS))
    population, _, states = trained(generations=1, taught=None)
    begun = firsts(states)[1][0]
    state = next(one for one in states if len(one["first"]) == 2)
    moment = until(population, begun + 2)
    rng = np.random.default_rng
    assert strategy.step(state, moment, range(SIZE), rng(0)) == longer.step(state, moment, range(SIZE), rng(0))


def test_a_teacher_is_retained_until_nobody_is_taught_even_if_a_fast_slot_has_taken_it():
    population, _, states = usual()
    begun = firsts(states)[1][0]
    strategy = bg_pbt(plan_of(), generations=2, patience=3, taught=TAUGHT)
    state = states[begun + COST - 1]
    teacher = Ref(*state["teacher"])
    taken = {**state, "taken": [*state["taken"], list(teacher)]}
    assert teacher in strategy.retain(taken, until(population, begun + COST))
    assert teacher not in strategy.retain({**taken, "archive": []}, until(population, begun + COST + 1))


def until(population, turns):
    """The population as it was when every slot had had this many turns."""
    moment = Population.of(len(population))
    for turn in range(turns):
        moment = moment.report([population.find(Ref(slot, turn)).report for slot in range(len(population))])
    return moment


def test_every_order_has_a_seed_of_its_own():
    population, _, _ = usual()
    seeds = [turn.order.seed for turn in turns_of(population)]
    assert len(set(seeds)) == len(seeds)


def test_without_a_teacher_students_learn_by_themselves():
    population, _, _ = trained(teacher=False, generations=1)
    assert all(turn.order.teacher is None for turn in turns_of(population))
    events = Counter(turn.order.why.get("event") for turn in turns_of(population, 1))
    assert (events["student"], events["promoted"], events["chosen"]) == (3 * SIZE, 3 * SIZE, SIZE)


def test_heirs_may_go_back_to_the_best_state_that_a_generation_ever_had():
    def noisy(state, hparams, steps, seed, *, teacher=None):
        return {}, {"score": float(np.random.default_rng(seed).normal())}

    population, _, _ = trained(noisy, backtrack=True, patience=6, longest=6)
    back = [turn for turn in turns_of(population) if turn.order.why.get("backtrack")]
    older = [turn for turn in back if turn.order.turn - turn.order.start.turn > 1]
    assert older
    for turn in back:
        assert all(turn.order.hparams[name] == turn.parent.order.hparams[name] for name in ARCHITECTURE)
        assert not turn.failed
    assert not any(turn.order.why.get("backtrack") for turn in turns_of(usual()[0]))


def test_a_space_without_architecture_founds_generations_of_fresh_weights():
    plan = replace(plan_of(), space=Space({"h": Float(0, 1)}), architecture=frozenset())

    def train(state, hparams, steps, seed, *, teacher=None):
        return learn(state, {**hparams, "width": 3}, steps, seed, teacher=teacher)

    strategy = bg_pbt(plan, generations=1, patience=3, taught=TAUGHT)
    made = rehearse(adapt(train), strategy, plan, lambda worker: simulated(worker, None), turns=TURNS, seed=1)
    students = [turn for turn in turns_of(made.population, 1) if turn.order.why.get("event") == "student"]
    assert len(students) == 3 * SIZE
    assert not any(turn.failed for turn in turns_of(made.population))


def test_students_that_fail_rank_last_and_where_none_is_left_the_teacher_trains_on():
    def failing(state, hparams, steps, seed, *, teacher=None):
        if teacher is not None and seed % 5 < 3:
            raise ArithmeticError("scripted")
        return learn(state, hparams, steps, seed, teacher=teacher)

    population, _, _ = trained(failing, generations=1, size=8)
    assert all(member.turns == TURNS for member in population.members)
    fallbacks = [turn for turn in turns_of(population, 1) if turn.order.why.get("event") == "fallback"]
    (teacher,) = {turn.order.teacher for turn in turns_of(population, 1)} - {None}
    assert fallbacks
    assert all(turn.order.start == teacher and turn.order.teacher is None for turn in fallbacks)
    taken = [turn for turn in turns_of(population, 1) if turn.order.why.get("event") in ("promoted", "chosen")]
    assert not any(turn.parent.failed for turn in taken)
    assert max(member.latest.score for member in population.members) > population.find(teacher).score


@pytest.mark.parametrize(
    ("settings", "plan", "said"),
    [
        ({}, plan_of(links=()), "generations=2: students have a teacher, or learn by themselves with teacher=false"),
        ({}, plan_of(turns=None), r"needs an end; set stop\.turns or stop\.steps"),
        ({"generations": -1}, plan_of(), "generations=-1: must be 0, for none, or more"),
        ({"patience": 0}, plan_of(), "patience=0: must be at least 1"),
        ({"taught": 2}, plan_of(), "taught=2: must be at least 3"),
    ],
)
def test_settings_that_cannot_work_are_refused_with_a_sentence(settings, plan, said):
    with pytest.raises((ValueError, LinkError), match=said):
        bg_pbt(plan, **{"generations": 2, **settings})


def test_without_generations_nothing_is_asked_of_the_learner():
    assert bg_pbt(plan_of(links=())).init() == {"taken": [], "evolution": {}}
