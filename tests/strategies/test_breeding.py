"""`ga`, `nsga2` and `map_elites`: what survives, who the parents are, what a run keeps, and that they find known answers."""

from __future__ import annotations

import contextlib

import pytest
from benchmarks.breeding import cells_filled, ga_on_shubert, nsga2_on
from tests.strategies.in_memory import trained

import evolute
from evolute import strategies
from evolute.config.error import ConfigError
from evolute.core.order import Ref
from evolute.core.param import Float
from evolute.core.population import best
from evolute.core.protocols import LinkError, Plan
from evolute.core.space import Space
from evolute.report.data.details import run_details
from evolute.runs.turns import TurnTable
from evolute.store.journal import Journal
from evolute.strategies.map_elites import Steps, map_elites

PLAN = Plan(Space({"x": Float(0.0, 1.0)}), 6, 1, 12)
CELLS = {"a": (0.0, 1.0, 3), "b": (0.0, 1.0, 3)}


def counting(state, hparams, steps, seed):
    """A state knows how many turns its line has; the score is how close x is to 0.7."""
    turns = 1 if state is None else state["turns"] + 1
    return {"turns": turns}, {"score": -abs(hparams["x"] - 0.7), "turns": turns}


def test_the_archive_is_the_best_of_all_so_far_and_children_train_on_from_their_first_parent():
    population, decisions = trained(counting, strategies.ga(PLAN), PLAN, turns=12, seed=0)
    turns = [turn for member in population.members for turn in member.history()]
    earlier = sorted((turn for turn in turns if turn.order.turn < 11), key=lambda turn: -turn.score)
    assert [turn.score for turn in map(population.find, population.archive)] == [turn.score for turn in earlier[:6]]
    assert best(population).score == max(turn.score for turn in turns)
    for number, orders in enumerate(decisions[1:], start=1):
        for order in orders:
            assert order.start == Ref(*order.why["parents"][0])
            parents = [population.find(Ref(*pair)) for pair in order.why["parents"]]
            assert all(parent.order.turn < number for parent in parents)
            assert population.find(order.ref).report.metrics["turns"] == parents[0].report.metrics["turns"] + 1
    drawn = [population.find(Ref(*order.why["parents"][0])).score for orders in decisions[6:] for order in orders]
    everyone = [turn.score for turn in turns]
    assert sum(drawn) / len(drawn) > sum(everyone) / len(everyone)


def test_a_failed_child_is_replaced_by_another_child_of_the_archive():
    def failing(state, hparams, steps, seed):
        if state is not None and seed % 3 == 0:
            raise ArithmeticError("no")
        return counting(state, hparams, steps, seed)

    population, decisions = trained(failing, strategies.ga(PLAN), PLAN, turns=12, seed=1)
    assert any(turn.failed for member in population.members for turn in member.history())
    assert not any(population.find(ref).failed for ref in population.archive)
    rescued = [order for orders in decisions for order in orders if order.why.get("event") == "rescue"]
    assert rescued
    assert all(order.start is not None for order in rescued)


def test_a_member_without_a_score_trains_on_until_it_has_one():
    def slow(state, hparams, steps, seed):
        state, metrics = counting(state, hparams, steps, seed)
        return state, {**metrics, "score": metrics["score"] if metrics["turns"] >= 3 else None}

    _, decisions = trained(slow, strategies.ga(PLAN), PLAN, turns=6, seed=0)
    for orders in decisions[1:3]:
        assert all(order.start == Ref(order.member, order.turn - 1) and not order.why for order in orders)
    assert all("parents" in order.why for order in decisions[3])


def test_elites_are_the_best_of_each_cell_and_values_outside_belong_to_the_border():
    assert [Steps(0.0, 1.0, 4).place(value) for value in (-5.0, 0.0, 0.24, 0.25, 0.99, 1.0, 7.0)] == [0, 0, 0, 1, 3, 3, 3]
    plan = Plan(Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}), 6, 1, 12)

    def two(state, hparams, steps, seed):
        return None, {"a": hparams["x"], "b": hparams["y"], "score": hparams["x"] * hparams["y"]}

    population, _ = trained(two, map_elites(plan, cells=CELLS), plan, turns=12, seed=0)
    turns = [turn for member in population.members for turn in member.history() if turn.order.turn < 11]

    def cell(turn):
        return tuple(min(int(turn.report.metrics[name] * 3), 2) for name in "ab")

    highest = {}
    for turn in turns:
        highest[cell(turn)] = max(turn.score, highest.get(cell(turn), 0.0))
    elites = [population.find(ref) for ref in population.archive]
    assert [(cell(turn), turn.score) for turn in elites] == sorted(highest.items())


def test_cells_that_the_learner_does_not_report_are_named():
    with pytest.raises(LinkError, match=r"names the metric 'busy', and this learner reports score, turns"):
        trained(counting, map_elites(PLAN, cells={"busy": (0.0, 1.0, 2)}), PLAN, turns=2, seed=0)


@pytest.mark.parametrize(
    ("strategy", "settings", "said"),
    [
        ("nsga2", {}, "none are set: objectives="),
        ("ga", {"archive": 1}, "archive=1: must be 2 or more"),
        ("map_elites", {"cells": {"a": (1.0, 0.0, 3)}}, r"cells.a=\[1.0, 0.0, 3\]: give \[lowest, highest, number of cells\]"),
        ("map_elites", {"cells": {}}, "name the metrics"),
    ],
)
def test_bad_settings_are_refused(strategy, settings, said):
    with pytest.raises(ValueError, match=said):
        getattr(strategies, strategy)(PLAN, **settings)


@pytest.mark.parametrize("name", ["pso", "cso"])
def test_swarms_lead_to_what_stands_for_them(name):
    with pytest.raises(ConfigError, match=r"pbt.explore=pairwise.*docs/strategies.md, Breeding"):
        evolute.run(preset="toy", strategy=name)


def canonical(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


def decided(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return [[decision.state, *(order.to_json() for order in decision.orders)] for decision in journal.decisions()]


@pytest.mark.parametrize(
    "mode", [{"mode": "sync"}, {"mode": "async", "engine": "simulated", "simulated": {"durations": [1.0, 2.0, 3.0]}}]
)
@pytest.mark.parametrize("more", [{"strategy": "nsga2"}, {"strategy": "map_elites", "map_elites": {"cells": CELLS}}])
def test_a_run_stopped_anywhere_goes_on_with_the_same_archive(tmp_path, stopped_at, more, mode):
    def train(name):
        settings = {"preset": "tradeoff", "population": 5, "stop": {"turns": 7}, "seed": 3, **more, **mode}
        return evolute.run(**settings, folder=tmp_path / name, display="none")

    whole = train("whole")
    assert whole.population.archive
    for count in (11, 23):
        stopped_at(count, lambda count=count: train(f"stopped-{count}"))
        before = decided(tmp_path / f"stopped-{count}")
        after = train(f"stopped-{count}")
        if mode["mode"] == "sync":
            assert canonical(tmp_path / f"stopped-{count}") == canonical(tmp_path / "whole")
        assert (
            decided(tmp_path / f"stopped-{count}")[: len(before)] == before
        )  # who is ready first may differ without a barrier
        assert all(member.turns == 7 for member in after.population.members)


def test_every_view_knows_the_archive_and_its_states_are_kept(tmp_path):
    settings = {"preset": "tradeoff", "strategy": "nsga2", "population": 6, "stop": {"turns": 8}, "nsga2": {"archive": 9}}
    run = evolute.run(**settings, folder=tmp_path / "run", display="none")
    table, details = TurnTable.read(run.folder), run_details(run)
    refs = [agent.turn.ref for agent in run.front]
    assert [table.ref(row) for row in table.front] == refs == [(row["member"], row["turn"]) for row in details["front"]]
    assert any(not row["latest"] for row in details["front"])
    assert len(run.population.archive) == 9
    for agent in run.front:
        assert agent.state["skills"] == pytest.approx(
            [agent.turn.report.metrics["true_a"], agent.turn.report.metrics["true_b"]]
        )
    assert run.best.score == max(turn.score for turn in run.population.candidates) == details["best"]["score"]
    with contextlib.closing(Journal.read(run.folder)) as journal:
        assert journal.best_score() == run.best.score


def test_they_find_known_answers():
    assert ga_on_shubert(seed=0, members=30, turns=40) > 180
    assert nsga2_on("zdt1", seed=0, members=24, turns=70) > 0.1
    assert cells_filled(lambda plan: map_elites(plan, cells={"u": (0.0, 1.0, 10), "v": (0.0, 1.0, 10)}), 0, turns=60) > 80
