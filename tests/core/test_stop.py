"""What ends a run: budgets of all members together, and scores that no longer rise."""

from __future__ import annotations

import itertools

import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.core.plateau import Plateau
from evolute.core.stop import Stop


def train(state, hparams, steps, seed):
    turns = (0 if state is None else state) + 1
    return turns, {"score": min(turns, 3) + hparams["h"]}


def run(tmp_path, **settings):
    base = {"space": {"h": [0, 1]}, "population": 4, "interval": 10, "strategy": "random_search", "runs": tmp_path}
    return evolute.run(train, display="none", **{**base, **settings})


@pytest.mark.parametrize(
    ("scores", "best", "turns"),
    [
        ([], None, 0),
        ([(0, None), (0, None)], None, 2),
        ([(0, 1.0), (0, 2.0), (0, 1.5)], 2.0, 0),
        ([(0, 1.0), (0, 2.0), (1, 2.0), (1, None), (2, 1.0)], 2.0, 3),
        ([(0, 1.0), (1, 3.0), (1, 2.0), (2, 3.5), (3, 3.0)], 3.5, 1),
    ],
)
def test_a_plateau_is_as_long_as_the_turns_after_the_best(scores, best, turns):
    found = Plateau.of(scores, barrier=True)
    assert (found.best, found.turns) == (best, turns)


def test_with_a_barrier_it_does_not_matter_who_of_a_round_comes_first():
    rounds = [[(0, 1.0), (0, 2.0), (0, 1.5)], [(1, 0.5), (1, 2.5), (1, None)], [(2, 1.0), (2, 1.0), (2, 2.5)]]
    found = {
        (plateau.best, plateau.turns)
        for orders in itertools.product(*map(itertools.permutations, rounds))
        for plateau in [Plateau.of(itertools.chain(*orders), barrier=True)]
    }
    assert found == {(2.5, 3)}


def test_without_a_barrier_turns_count_as_they_come_in():
    assert Plateau.of([(4, 2.0), (0, 1.0), (1, 1.0), (2, 1.0)], barrier=False).turns == 3
    assert Plateau.of([(0, 1.0), (4, 1.0), (1, 2.0), (2, 1.0)], barrier=False).turns == 1


def test_a_run_ends_when_no_turn_of_anybody_brings_a_new_best_score(tmp_path):
    ended = run(tmp_path, stop={"patience": 2})
    assert ended.meta.ended == "found no new best score in 2 turns"
    assert [member.turns for member in ended.population.members] == [5] * 4
    longer = evolute.resume(ended.folder, learner=train, stop={"patience": 4}, display="none")
    assert longer.meta.ended == "found no new best score in 4 turns"
    assert [member.turns for member in longer.population.members] == [7] * 4


@pytest.mark.parametrize(
    ("total", "turns", "steps"),
    [(40, 1, 40), (100, 3, 100), (87, 3, 84), (4, 1, 4)],
)
def test_all_members_share_a_budget_of_steps_in_equal_parts(tmp_path, total, turns, steps):
    ended = run(tmp_path, stop={"total": total})
    assert ended.meta.ended == f"finished its {total} steps of all members together"
    assert [member.turns for member in ended.population.members] == [turns] * 4
    assert sum(member.steps for member in ended.population.members) == steps
    assert ended.meta.horizon == turns


def test_the_first_limit_ends_the_run(tmp_path):
    assert run(tmp_path, stop={"total": 1000, "turns": 2}).meta.ended == "finished its 2 turns"
    assert run(tmp_path, stop={"total": 1000, "patience": 1}).meta.ended == "found no new best score in 1 turn"
    assert run(tmp_path, stop={"total": 1000, "steps": 20}).meta.ended == "finished its 20 steps per member"


def test_every_engine_stops_a_run_at_the_same_turn(tmp_path):
    def noisy(state, hparams, steps, seed):
        return None, {"score": (seed % 1000) / 1000}

    engines = [
        {},
        {"engine": "simulated", "simulated": {"workers": 2, "durations": [3, 1, 2]}},
        {"engine": "processes", "workers": 2},
    ]
    settings = {"space": {"h": [0, 1]}, "population": 4, "stop": {"patience": 3}, "display": "none"}
    runs = [evolute.run(noisy, runs=tmp_path / str(place), **settings, **engine) for place, engine in enumerate(engines)]
    assert {one.meta.ended for one in runs} == {"found no new best score in 3 turns"}
    ends = [[turn.report.metrics["score"] for member in one.population.members for turn in member.history()] for one in runs]
    assert ends[0] == ends[1] == ends[2]


def test_there_is_no_best_score_to_wait_for_with_objectives(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no one best score to wait for; leave out stop\.patience=2"):
        run(tmp_path, objectives=["score", "-h"], strategy="pbt", stop={"patience": 2})


def test_the_horizon_is_that_of_the_smaller_budget():
    assert Stop(total=100).horizon(10, 4) == 3
    assert Stop(total=100, steps=20).horizon(10, 4) == 2
    assert Stop(patience=2).horizon(10, 4) is None
