"""Evaluations after a run: which way of acting did better, who won, and what a run's record says of it."""

from __future__ import annotations

import pytest

from evolute.core.order import Ref
from evolute.store.evaluation import Evaluation, differ, ways, winner
from evolute.store.meta import RunMeta

WINNER = Ref(1, 5)


def both(member: int, greedy: float, sampled: float, deviation: float = 10.0) -> list[Evaluation]:
    """One member in both ways, over 25 episodes: the standard error of a difference is 2.83, its noise 5.66."""
    means = ((True, greedy), (False, sampled))
    return [Evaluation(member, 5, mean, deviation, 25, greedy=way) for way, mean in means]


@pytest.mark.parametrize(
    ("greedy", "sampled", "better"), [(0, 2, True), (0, 3, False), (0, 6, False), (6, 0, True), (5, 5, True)]
)
def test_sampling_is_better_only_if_it_is_so_by_a_standard_error(greedy, sampled, better):
    found = ways(both(1, greedy, sampled), WINNER)
    assert found[0].greedy is better
    assert [one.greedy for one in found] == [better, not better]
    assert differ(*found) is (abs(greedy - sampled) > 5.66)


def test_the_winner_is_the_highest_in_its_better_way_and_the_first_of_equals():
    assert winner([*both(0, 100, 40), *both(2, 30, 120), *both(3, 110, 112)]) == Evaluation(2, 5, 120, 10, 25, greedy=False)
    assert winner([*both(4, 7, 7), *both(1, 7, 7)]).member == 4
    assert winner([]) is None


def test_returns_without_spread_differ_however_little():
    assert differ(*both(0, 500, 499.5, deviation=0))
    assert not differ(*both(0, 500, 500, deviation=0))


def test_a_record_comes_back_from_its_text():
    evaluations = (*both(0, 1, 2), *both(1, 3, 30))
    meta = RunMeta(ended="done", evaluation=winner(evaluations), evaluations=evaluations)
    assert RunMeta.from_json(meta.to_json()) == meta
    assert meta.chosen == WINNER
    assert RunMeta(evaluation=winner(evaluations)).chosen is None, "a run that trains further has no winner yet"


def test_a_policy_acts_as_did_better_and_one_that_was_not_evaluated_like_the_winner():
    evaluations = (*both(0, 100, 40), *both(1, 3, 200))
    meta = RunMeta(ended="done", evaluation=winner(evaluations), evaluations=evaluations)
    assert [meta.greedy(Ref(member, 5)) for member in (0, 1, 7)] == [True, False, False]


@pytest.mark.parametrize(("settings", "greedy"), [({}, True), ({"greedy": False}, False), ({"greedy": True}, True)])
def test_without_an_evaluation_that_says_it_the_learner_s_settings_do(settings, greedy):
    unsaid = Evaluation(1, 5, 1.0, 0.0, 3)
    for evaluation in (None, unsaid):
        assert RunMeta(identity={"learner": ["ppo", settings]}, evaluation=evaluation).greedy(WINNER) is greedy
    assert RunMeta().greedy(WINNER) is True


@pytest.mark.parametrize(
    ("given", "greedy"),
    [({}, False), ({"ppo.greedy": (True, "-m")}, True), ({"ppo.greedy": (False, "-m")}, False)],
)
def test_a_policy_of_a_game_samples_as_it_was_rated_unless_the_user_has_set_otherwise(given, greedy):
    """Settings have their defaults in the identity of a run; what was given is in its config."""
    setting = given.get("ppo.greedy", (True, "default"))[0]
    identity = {"learner": ["ppo", {"greedy": setting}], "opponents": ["history", {}]}
    assert RunMeta(learner="ppo", identity=identity, config=given).greedy(WINNER) is greedy
