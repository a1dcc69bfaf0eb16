from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.order import Match, Ref, Report
from evolute.core.population import Population
from evolute.opponents.payoff import win_share


def played(*turns, size=3):
    """A population after these turns: (slot, matches) or (slot, matches, where it starts)."""
    population = Population.of(size)
    for slot, matches, *start in turns:
        latest = population[slot].latest
        begins = start[0] if start else None if latest is None else latest.ref
        order = population.draft(slot, {}, start=begins)
        population = population.report([Report(order, {"score": 0.0}, 1, tuple(matches), digest="d")])
    return population


def versus(player, score, games):
    return Match((player,), score, games)


FOE = Ref(1, 0)


def test_without_games_the_ratings_decide():
    population = played((0, []), (1, []))
    assert win_share(population, Ref(0, 0), FOE, prior=0.8) == 0.8
    assert win_share(population, Ref(0, 0), "bot", prior=0.3) == pytest.approx(0.3)


def test_games_of_the_state_itself_count_in_full():
    population = played((1, []), (0, [versus(FOE, 0.75, 8), versus("bot", 0.0, 50)]))
    assert win_share(population, Ref(0, 0), FOE, prior=0.5) == pytest.approx((6 + 1) / (8 + 2))
    assert win_share(population, Ref(0, 0), "bot", prior=0.5) == pytest.approx(1 / 52)


def test_games_of_ancestors_fade_by_turn():
    population = played((1, []), (0, [versus(FOE, 0.0, 10)]), (0, []), (0, [versus(FOE, 1.0, 10)]))
    assert win_share(population, Ref(0, 2), FOE, prior=0.5) == pytest.approx((10 + 1) / (10 + 4.9 + 2))
    assert win_share(population, Ref(0, 1), FOE, prior=0.5) == pytest.approx(1 / (7 + 2))
    assert win_share(population, Ref(0, 0), FOE, prior=0.5) == pytest.approx(1 / (10 + 2))


def test_an_heir_has_the_games_of_its_parent():
    population = played((1, []), (0, [versus(FOE, 1.0, 10)]), (2, [versus(FOE, 0.0, 90)]), (2, [], Ref(0, 0)))
    assert win_share(population, Ref(2, 1), FOE, prior=0.5) == pytest.approx((7 + 1) / (7 + 2))


def test_games_that_the_other_reported_count_as_well_and_never_fade():
    """The foe played the member's state long ago, and that state is as it was."""
    population = played((0, []), (1, [versus(Ref(0, 0), 0.9, 10)]), *[(1, [])] * 5)
    assert win_share(population, Ref(0, 0), FOE, prior=0.5) == pytest.approx((1 + 1) / (10 + 2))
    assert win_share(population, FOE, Ref(0, 0), prior=0.5) == pytest.approx((9 + 1) / (10 + 2))


def test_games_more_than_sixteen_turns_back_are_forgotten():
    for turns, forgotten in ((16, False), (17, True)):
        population = played((1, []), (0, [versus(FOE, 1.0, 10_000)]), *[(0, [])] * turns)
        assert (win_share(population, Ref(0, turns), FOE, prior=0.5) == 0.5) is forgotten


def test_team_mates_are_left_out_and_opponents_count_by_their_seats():
    other = Ref(2, 0)
    population = played((1, []), (2, []), (0, [Match((FOE, FOE, other), 1.0, 10), Match((other, FOE, FOE), 0.0, 10)]))
    assert win_share(population, Ref(0, 0), FOE, prior=0.5, mates=1) == pytest.approx((5 + 1) / (5 + 10 + 2))
    assert win_share(population, Ref(0, 0), other, prior=0.5, mates=1) == pytest.approx((5 + 1) / (5 + 2))


def test_games_without_opponents_say_nothing():
    population = played((1, []), (0, [Match((FOE,), 1.0, 10)]))
    assert win_share(population, Ref(0, 0), FOE, prior=0.4, mates=1) == 0.4


results = st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1), st.integers(1, 40)), max_size=12)


@settings(deadline=None)
@given(results, st.floats(0, 1))
def test_what_one_wins_the_other_loses(rows, prior):
    turns = [(0, []), (1, [])]
    turns += [(slot, [versus(Ref(1 - slot, 0), score, games)]) for slot, score, games in rows]
    population = played(*turns)
    share = win_share(population, population[0].latest.ref, FOE, prior=prior)
    assert 0 <= share <= 1
    one, other = Ref(0, 0), FOE
    both = win_share(population, one, other, prior=prior) + win_share(population, other, one, prior=1 - prior)
    assert both == pytest.approx(1)
