from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fields import trained
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.order import Ref, Report
from evolute.opponents.pool import admitted, better, easiest, every, is_due, oldest, thin


def line(*turns):
    return tuple(Ref(0, turn) for turn in turns)


def latest_of(population):
    return {member.slot: member.latest.ref for member in population.members if member.latest is not None}


@pytest.mark.parametrize(
    ("before", "now", "due"),
    [(0, 7, False), (0, 8, True), (7, 8, True), (8, 15, False), (8, 16, True), (8, 40, True), (0, 0, False)],
)
def test_admission_is_due_after_every_so_many_turns_of_each(before, now, due):
    assert is_due(before, now, every=2, size=4) is due


def test_a_drawn_member_and_the_best_are_admitted():
    latest = latest_of(trained([3, 3, 0, 3]))
    drawn = Counter(tuple(every(latest, [1.0, 5.0, None, 2.0], np.random.default_rng(seed))) for seed in range(300))
    assert set(drawn) == {(Ref(0, 2), Ref(1, 2)), (Ref(1, 2),), (Ref(3, 2), Ref(1, 2))}
    assert min(drawn.values()) > 70
    assert every(latest, [None] * 4, np.random.default_rng(0))[0] in latest.values()
    assert every({}, [None, None], np.random.default_rng(0)) == []


def test_a_state_is_admitted_if_it_beats_the_newest_of_its_line():
    population = trained([4, 4, 4])
    latest = latest_of(population)
    pool = (Ref(0, 0), Ref(1, 1), Ref(0, 1))
    shares = {(Ref(0, 3), Ref(0, 1)): 0.71, (Ref(0, 3), Ref(0, 0)): 0.1, (Ref(1, 3), Ref(1, 1)): 0.7}
    assert better(population, latest, pool, lambda one, other: shares[one, other]) == [Ref(0, 3), Ref(2, 3)]
    assert better(population, latest, pool, lambda one, other: shares[one, other], threshold=0.6) == list(latest.values())


def test_an_heir_belongs_to_the_line_of_its_parent_and_is_not_admitted_twice():
    population = trained([2, 2])
    heir = population.draft(1, {}, start=Ref(0, 1))
    population = population.report([Report(heir, {"score": 0.0}, 1, digest="d")])
    met = []

    def payoff(one, other):
        met.append((one, other))
        return 0.9

    assert better(population, latest_of(population), (Ref(1, 1), Ref(0, 0), Ref(0, 1)), payoff) == [Ref(1, 2)]
    assert met == [(Ref(1, 2), Ref(0, 1))]


def test_thinning_drops_the_state_between_the_closest_neighbours():
    assert thin(line(0, 4, 5, 6, 20)) == Ref(0, 5)
    assert thin(line(0, 1, 9, 12, 15)) == Ref(0, 12)
    assert thin(line(0, 2, 4, 6)) == Ref(0, 2)
    assert [thin(line(3)), thin(line(3, 4))] == [Ref(0, 3), Ref(0, 3)]


def test_a_thinned_pool_covers_the_whole_past():
    pool = ()
    for turn in range(0, 400, 2):
        pool = admitted(pool, [Ref(0, turn)], capacity=16, forget=thin)
    turns = [ref.turn for ref in pool]
    assert len(turns) == 16
    assert (turns[0], turns[-1]) == (0, 398)
    assert max(np.diff(turns)) <= 4 * 400 / 16


def test_the_oldest_or_the_easiest_is_dropped():
    assert oldest(line(1, 2, 3)) == Ref(0, 1)
    beaten = {Ref(0, 1): 0.3, Ref(0, 2): 0.9, Ref(0, 3): 0.9}
    assert easiest(beaten.__getitem__)(line(1, 2, 3)) == Ref(0, 2)


refs = st.tuples(st.integers(0, 2), st.integers(0, 20)).map(lambda pair: Ref(*pair))


@settings(deadline=None)
@given(st.lists(refs, max_size=30), st.integers(1, 6), st.sampled_from([thin, oldest, easiest(lambda ref: ref.turn % 5)]))
def test_a_pool_has_each_state_once_and_never_too_many(states, capacity, forget):
    pool = admitted((), states, capacity=capacity, forget=forget)
    assert len(pool) == min(capacity, len(set(states))) or len(set(states)) > capacity
    assert len(set(pool)) == len(pool) <= capacity
    assert set(pool) <= set(states)
    places = [max(place for place, state in enumerate(states) if state == ref) for ref in pool]
    if forget is oldest and len(set(states)) == len(states):
        assert places == sorted(places)
