"""The strategy `schedule`: every member follows the rows, a failed turn is tried again, and mistakes are said."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.core.order import Order, Ref, Report
from evolute.core.param import Float
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.engines.simulated import simulated
from evolute.strategies.schedule import schedule
from evolute.testing import check_strategy
from evolute.testing.strategy import SPACE

ROWS = [{"turns": 2, "steps": 3, "hparams": {"x": 0.5}}, {"hparams": {"x": 1.0}}]


def follow(tmp_path, train, rows=ROWS, turns=5):
    space = {"x": evolute.Float(0, 1)}
    settings = {"population": 2, "interval": 7, "stop": {"turns": turns}, "display": "none", "schedule": {"rows": rows}}
    return evolute.run(train, space=space, strategy="schedule", folder=tmp_path / "run", **settings)


def test_it_keeps_the_laws_of_strategies():
    hparams = SPACE.sample(np.random.default_rng(0))
    check_strategy(
        lambda plan: schedule(plan, rows=({"turns": 3, "hparams": hparams},)),
        lambda worker: simulated(worker, None, durations=[1, 2, 3]),
    )


def test_members_follow_the_rows_and_the_last_one_lasts(tmp_path):
    run = follow(tmp_path, lambda state, hparams, steps, seed: (0, {"score": 1.0}))
    for member in run.population.members:
        turns = list(member.history())[::-1]
        assert [turn.order.hparams["x"] for turn in turns] == [0.5, 0.5, 1.0, 1.0, 1.0]
        assert [turn.order.steps for turn in turns] == [3, 3, 7, 7, 7]


def test_a_turn_that_failed_is_tried_again(tmp_path):
    failed = set()

    def train(state, hparams, steps, seed):
        if hparams["x"] == 1.0 and not failed:
            failed.add(seed)
            raise ValueError("unlucky")
        return (0 if state is None else state) + 1, {"score": 1.0}

    run = follow(tmp_path, train)
    for member in run.population.members:
        assert [turn.order.hparams["x"] for turn in member.history()][::-1] == [0.5, 0.5, 1.0, 1.0, 1.0]
        lost = sum(turn.failed for turn in member.history())
        assert member.latest.order.why["place"] == 4 - lost
    assert len(failed) == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"hparams": {"x": 2.0}}, "is not in"),
        ({"hparams": {}}, "must be the same"),
        ({"hparams": {"x": 0.5}, "lr": 1}, "unknown lr"),
        ({"hparams": {"x": 0.5}, "turns": 2, "seed": 7}, "exactly 1 with a seed"),
        ({"hparams": {"x": 0.5}, "teacher": 0}, "has a teacher, and this learner takes none"),
        ({"hparams": {"x": 0.5}, "teacher_weight": [1, 0]}, "has a teacher_weight and no teacher"),
    ],
)
def test_mistakes_in_rows_are_said(row, said):
    with pytest.raises(ValueError, match=said):
        schedule(Plan(Space({"x": Float(0, 1)}), 1, 1), rows=(row,))


def test_teachers_of_rows_to_come_are_retained():
    plan = Plan(Space({"x": Float(0, 1)}), 1, 1, links=frozenset({"teacher"}))
    taught = {"hparams": {"x": 0.5}, "teacher_weight": [1, 0.5]}
    strategy = schedule(plan, rows=({**taught, "teacher": 0}, {"hparams": {"x": 0.1}}, {**taught, "teacher": 1}))
    population = Population.of(1)
    for number in range(2):
        imported = Order(0, number, {"x": 0.5}, why={"event": "import", "teacher": True})
        population = population.report([Report(imported)])
    kept = []
    for _ in range(3):
        kept.append(set(strategy.retain({}, population)))
        _, (order,) = strategy.step({}, population, [0], np.random.default_rng(0))
        population = population.report([Report(order, {"score": 1.0})])
    assert kept == [{Ref(0, 0), Ref(0, 1)}, {Ref(0, 1)}, {Ref(0, 1)}]
    assert [turn.order.teacher for turn in population[0].history()][:3] == [Ref(0, 1), None, Ref(0, 0)]
    assert strategy.teachers == 2
