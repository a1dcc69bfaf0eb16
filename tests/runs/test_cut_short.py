"""A run that ends in the middle of a generation: its teacher is the best in every view, and the run can go on."""

from __future__ import annotations

import contextlib

import pytest

import evolute
from evolute.core.order import Ref
from evolute.core.population import best
from evolute.report.data.details import run_details
from evolute.report.data.generations import generation_data
from evolute.runs.replay import replay
from evolute.runs.result import Run
from evolute.runs.session import Launch
from evolute.runs.turns import TurnTable
from evolute.store.journal import Journal

SETTINGS = {"preset": "ceilings", "population": 4, "seed": 2, "display": "none"}
CUT = {"generations": 1, "patience": 4, "longest": 10, "taught": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """It ends as students begin to catch up: nobody was better than the teacher for a while."""
    place = tmp_path_factory.mktemp("runs") / "run"
    return evolute.run(**SETTINGS, bg_pbt=CUT, stop={"turns": 36, "patience": 5}, folder=place).folder


def turns_of(run):
    return [turn for member in run.population.members for turn in member.history()]


def test_the_teacher_is_the_best_in_every_view(folder):
    run, table = Run.open(folder), TurnTable.read(folder)
    (story,) = generation_data(table)
    assert story["stay"] is None
    (teacher,) = {turn.order.teacher for turn in turns_of(run)} - {None}
    assert run.best.turn.ref == table.ref(table.best) == teacher
    assert run.best.score > max(member.latest.score for member in run.population.members)
    assert run.best.state["skill"] > 0
    found = run_details(run)["best"]
    assert (found["member"], found["turn"]) == teacher
    with contextlib.closing(Journal.read(folder)) as journal:
        assert journal.best_score() == run.best.score


def test_its_best_can_be_replayed_and_start_another_run(folder, tmp_path):
    agent = Run.open(folder).best
    found = replay(agent, Launch(folder=tmp_path / "again"), exact=True, seed=None)
    assert found.same == len(found.line) == len(agent.lineage)
    begin = {"init": {"from": str(folder)}, "stop": {"turns": 30}, "population": 2}
    heir = evolute.run(**{**SETTINGS, **begin}, bg_pbt=CUT, folder=tmp_path / "heir")
    assert heir.population.find(Ref(1, 0)).report.digest == agent.turn.report.digest


def test_it_goes_on_as_if_it_had_never_stopped(tmp_path):
    whole = evolute.run(**SETTINGS, bg_pbt=CUT, stop={"turns": 36}, folder=tmp_path / "whole")
    cut = evolute.run(**SETTINGS, bg_pbt=CUT, stop={"turns": 36, "patience": 5}, folder=tmp_path / "cut")
    assert turns_of(cut)[0].order.turn < 36
    after = evolute.resume(cut.folder, stop={"patience": 99})
    assert [turn.report.digest for turn in turns_of(after)] == [turn.report.digest for turn in turns_of(whole)]
    assert best(after.population).ref == best(whole.population).ref
    assert after.population.archive == ()
