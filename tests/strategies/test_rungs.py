"""Successive rungs: who trains how long, who continues, what is retained, and what failures and slow members change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from populations import STEPS, plan

from evolute.core.order import Ref
from evolute.core.param import Float
from evolute.core.population import descent
from evolute.core.protocols import Plan
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.simulated import simulated
from evolute.strategies import bg_pbt, pbt
from evolute.strategies.evolution import Evolution
from evolute.strategies.exploit import truncation
from evolute.strategies.explore import perturb
from evolute.strategies.ladder import Ladder, Rung
from evolute.strategies.rungs import Rungs
from evolute.testing.memory import rehearse

SPACE = Space({"x": Float(0, 1)})


def keep(state, hparams, steps, seed):
    """The score is the value that a line of descent began with."""
    x = hparams["x"] if state is None else state["x"]
    return {"x": x}, {"score": x}


def climbed(rungs, size=4, turns=20, train=keep, barrier=True, **engine):
    plan = Plan(SPACE, size, STEPS, turns)
    strategy = Rungs(Evolution(plan, truncation(), perturb()), rungs)
    made = rehearse(adapt(train), strategy, plan, lambda w: simulated(w, None, **engine), turns=turns, seed=3, barrier=barrier)
    return made.population, strategy.ladder


def fresh(population):
    """The first turn of every candidate, best first."""
    turns = [turn for member in population.members for turn in member.history() if turn.parent is None]
    return sorted(turns, key=lambda turn: -turn.order.hparams["x"])


def length(population, first):
    """How many turns a candidate was trained before the slots left the ladder."""
    lines = [list(descent(turn)) for member in population.members for turn in member.history()]
    return max(len(line) for line in lines if line[-1] is first)


@pytest.mark.parametrize("rungs", [((12, 1),), ((12, 1), (8, 1)), ((12, 2), (8, 2), (4, 3)), ((16, 1), (8, 3))])
def test_the_best_of_each_rung_train_on_and_the_others_stop(rungs):
    population, ladder = climbed(rungs, turns=30)
    candidates = fresh(population)
    assert len(candidates) == rungs[0][0]
    trained = np.cumsum([turns for _, turns in rungs])
    for place, candidate in enumerate(candidates):
        reached = sum(place < count for count, _ in rungs)
        survives = place < 4
        assert survives or length(population, candidate) == trained[reached - 1]
    chosen = [t for m in population.members for t in m.history() if t.order.turn == ladder.length]
    assert {list(descent(turn))[-1].ref for turn in chosen} == {turn.ref for turn in candidates[:4]}


def test_slots_keep_their_own_candidates_where_they_can():
    population, ladder = climbed(((12, 1), (8, 1)))
    top = [turn for member in population.members for turn in member.history() if turn.order.turn == ladder.length]
    before = {turn.order.start for turn in top}
    for turn in top:
        assert turn.order.start.member == turn.order.member or all(ref.member != turn.order.member for ref in before)


@given(
    rungs=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=4),
    age=st.integers(0, 60),
)
@settings(max_examples=200, deadline=None)
def test_a_ladder_has_one_place_for_each_turn(rungs, age):
    ladder = Ladder(tuple(Rung(*rung) for rung in rungs))
    place = ladder.place(age)
    if age >= ladder.length:
        assert place == (len(rungs), age - ladder.length)
        return
    assert ladder.begins(place.rung) <= age < ladder.begins(place.rung + 1)
    assert (age in ladder.ends(place.rung)) == (place.turn == rungs[place.rung][1] - 1)
    assert sum(age in ladder.ends(number) for number in range(len(rungs))) <= 1
    if place.turn == 0:
        assert age <= ladder.last_choice(place.rung)


def test_a_candidate_whose_turn_failed_goes_back_to_the_state_before_and_keeps_its_values():
    """The slot's own last state may be another candidate's, so the one before the failure is retained."""

    def train(state, hparams, steps, seed):
        if state is not None and np.random.default_rng(seed).random() < 0.4:
            raise ArithmeticError("scripted")
        return keep(state, hparams, steps, seed)

    population, ladder = climbed(((12, 2), (8, 3)), turns=24, train=train)
    retried = 0
    for member in population.members:
        for turn in member.history():
            if turn.order.turn >= ladder.length or turn.before is None or not turn.before.failed:
                continue
            if ladder.place(turn.order.turn).turn:
                retried += 1
                assert turn.order.start == turn.before.order.start
                assert turn.order.hparams == turn.before.order.hparams
    assert retried > 3


def test_a_candidate_that_failed_its_last_turn_of_a_rung_is_not_taken():
    def train(state, hparams, steps, seed):
        if state is None and hparams["x"] > 0.7:
            raise ArithmeticError("the best ones fail")
        return keep(state, hparams, steps, seed)

    population, ladder = climbed(((12, 1),), train=train)
    whole = [turn for turn in fresh(population) if not turn.failed][:4]
    chosen = [t for m in population.members for t in m.history() if t.order.turn == ladder.length]
    assert {turn.order.start for turn in chosen} == {turn.ref for turn in whole}


@pytest.mark.parametrize("durations", [[1, 2, 3, 5], [1, 1, 1, 9]])
def test_without_a_barrier_nobody_waits_and_nothing_is_taken_twice(durations):
    population, ladder = climbed(((12, 1), (8, 2)), barrier=False, durations=durations)
    taken = []
    for member in population.members:
        for turn in member.history():
            place = ladder.place(turn.order.turn)
            if place.rung > 0 and place.turn == 0 and turn.order.turn <= ladder.length:
                taken.append(turn.order.start)
    assert len(taken) == len(set(taken)) == 12
    assert all(isinstance(ref, Ref) for ref in taken)


def test_rungs_take_at_most_half_of_a_run():
    plan = Plan(SPACE, 8, STEPS, 8)
    assert bg_pbt(plan, candidates=(24, 16, 8)).ladder.rungs == ((2, 1), (1, 1), (1, 1))
    assert bg_pbt(Plan(SPACE, 8, STEPS, 40), candidates=(24, 16)).ladder.rungs == ((3, 1), (2, 1))


@pytest.mark.parametrize(("candidates", "said"), [((24, 4), "at least the population's 8"), ((16, 24), "at most as many")])
def test_rungs_that_cannot_be_are_refused(candidates, said):
    with pytest.raises(ValueError, match=said):
        bg_pbt(Plan(SPACE, 8, STEPS, 40), candidates=candidates)


def test_pbt_may_start_with_more_candidates_than_slots():
    made = pbt(plan(4), candidates=8)
    assert isinstance(made, Rungs)
    assert made.ladder.rungs == (Rung(2, 1),)
    assert isinstance(pbt(plan(4)), Evolution)
    with pytest.raises(ValueError, match="candidates=3: must be at least the population's 4"):
        pbt(plan(4), candidates=3)
