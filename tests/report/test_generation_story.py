"""What views tell of generations: the journal's own words, in `show`, charts and pages; and nothing where there are none."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

import evolute
from evolute.core.lineage import origin
from evolute.core.order import Order, Ref
from evolute.report import formats
from evolute.report.data.details import retained_at_most, run_details
from evolute.report.data.generations import (
    architectures,
    compiling,
    founded,
    generation_data,
    generation_lines,
    generation_of,
    spent,
)
from evolute.report.data.page import page_data
from evolute.report.data.start import start_lines
from evolute.report.figures.all import charts, sections
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable
from evolute.store import points
from evolute.store.journal import Journal
from evolute.strategies.bayes.architectures import tried_so_far

SETTINGS = {"preset": "ceilings", "population": 4, "stop": {"turns": 36}, "display": "none", "seed": 2}
CUT = {"generations": 2, "longest": 4, "taught": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return evolute.run(**SETTINGS, bg_pbt=CUT, folder=tmp_path_factory.mktemp("runs") / "run").folder


@pytest.fixture(scope="module")
def table(folder):
    return TurnTable.read(folder)


def turns_of(folder):
    return [turn for member in Run.open(folder).population.members for turn in member.history()]


def test_the_table_knows_every_teacher(folder, table):
    taught = {turn.ref: turn.order.teacher for turn in turns_of(folder) if turn.order.teacher is not None}
    assert len(taught) == 2 * 4 * 8
    assert {table.ref(row): table.ref(teacher) for row, teacher in table.teachers.items()} == taught
    row = next(iter(table.teachers))
    assert table.order(row).teacher == taught[table.ref(row)]


def test_the_story_is_what_the_orders_say(folder, table):
    story = generation_data(table)
    assert [one["generation"] for one in story] == [1, 2]
    for one in story:
        turns = [turn for turn in turns_of(folder) if turn.order.why.get("generation") == one["generation"]]
        students = [turn for turn in turns if turn.order.why.get("event") == "student"]
        assert one["from"] == min(turn.order.turn for turn in students)
        assert one["turns"] == len(turns) - 4 == 4 * 8
        assert one["rungs"] == [12, 8, 4]
        assert sum(one["stay"].values()) == 4
        assert (one["teacher"]["member"], one["teacher"]["turn"]) == students[0].order.teacher
        kinds = Counter(json.dumps(turn.order.why["architecture"]) for turn in students)
        shown = {json.dumps(kind["architecture"]): kind for kind in one["architectures"] if "by" in kind}
        assert {name: kind["rungs"][0] for name, kind in shown.items()} == kinds
        assert sum(kind["stay"] for kind in shown.values()) == one["stay"]["students"]
        for turn in students:
            kind = shown[json.dumps(turn.order.why["architecture"])]
            assert (kind["by"], kind["expected"]) == (turn.order.why["by"], turn.order.why["expected"])
        scores = [kind["score"] for kind in one["architectures"]]
        assert scores == sorted(scores, reverse=True)
    assert spent(table) == 2 * 4 * 8
    assert [len(one.stayed) for one in founded(table)] == [one["stay"]["students"] for one in story]


def test_what_first_turns_take_beyond_the_usual_is_compiling(table):
    names = list(next(why for why in table.why if "architecture" in why)["architecture"])
    rows: dict[tuple[str, bool], list[int]] = {}
    for row, hparams in enumerate(table.hparams):
        rows.setdefault((json.dumps([hparams[name] for name in names]), row in table.teachers), []).append(row)
    seconds = np.ones(len(table.turn))
    assert compiling(replace(table, seconds=seconds)) == 0.0
    seconds[[own[0] for own in rows.values()]] = 6.0
    assert compiling(replace(table, seconds=seconds)) == 5.0 * sum(len(own) > 1 for own in rows.values()) > 0.0


def test_show_tells_it(folder):
    data = run_details(Run.open(folder))
    assert data["generations"] == generation_data(TurnTable.read(folder))
    first, *rest = generation_lines(data["generations"])
    assert first.startswith("  generation 1 from turn ")
    assert "taught by member" in first
    assert "12 → 8 → 4 students" in first
    assert any("(by the model): best" in line and "expected" in line for line in rest)
    json.dumps(data, allow_nan=False)


def test_pages_have_a_section_and_the_family_tree_says_who_taught_whom(table):
    shown = sections(table)
    assert [chart.key for chart in shown["Generations"]] == [
        "students-1",
        "students-2",
        "architectures",
        "expected-architectures",
    ]
    tree = next(chart for chart in shown["Descent"] if chart.key == "family")
    lessons = next(series for series in tree.series if series.role == "teacher")
    ends = list(zip(lessons.x, lessons.y, strict=True))
    links = set(zip(ends[::2], ends[1::2], strict=True))
    expected = {
        ((teacher.turn, teacher.member), (row_ref.turn, row_ref.member))
        for row, other in table.teachers.items()
        if table.why[row].get("event") == "student"
        for teacher, row_ref in [(table.ref(other), table.ref(row))]
    }
    assert links == expected
    curves = next(chart for chart in shown["Learning"] if chart.key == "curves-by-member")
    (border,) = [series for series in curves.series if series.role == "border"]
    begun = [one["from"] for one in generation_data(table)]
    assert border.x[::2] == [turn + 1 for turn in begun]
    assert ["turns to found generations", "64"] in page_data(table)["facts"]


def test_every_student_is_in_the_plot_of_its_generation_with_its_architecture_and_the_rungs_it_reached(table):
    for one in founded(table):
        chart = next(chart for chart in sections(table)["Generations"] if chart.key == f"students-{one.number}")
        told = [series for series in chart.series if series.texts]
        shown = {(part.name, x, text.split(";")[0]) for part in told for x, text in zip(part.x, part.texts, strict=True)}
        for student in one.students:
            kind = formats.hparams(table.why[student]["architecture"])
            stays, rungs = student in one.stayed, formats.count(one.reached[student], "rung")
            name = "one turn only" if one.reached[student] == 1 else "stays" if stays else "dropped"
            assert (name, 1, f"{kind}: {rungs}{', stays' if stays else ''}") in shown
        (alone,) = [series for series in chart.series if series.name == "one turn only"]
        assert len(alone.x) == list(one.reached.values()).count(1) == 4


def test_without_a_model_or_a_teacher_the_story_is_shorter(tmp_path):
    cut = {**CUT, "generations": 1, "teacher": False, "architectures_by": "random"}
    run = evolute.run(**SETTINGS, bg_pbt=cut, folder=tmp_path / "run")
    table = TurnTable.read(run.folder)
    (story,) = generation_data(table)
    assert story["teacher"] is None
    lines = list(generation_lines([story]))
    assert "without a teacher" in lines[0]
    assert not any("expected" in line for line in lines)
    assert [chart.key for chart in sections(table)["Generations"]] == ["students-1", "architectures"]


def test_without_architectures_students_are_said_to_have_the_same(tmp_path):
    cut = {**CUT, "generations": 1, "teacher": False}
    run = evolute.run(**{**SETTINGS, "preset": "drift"}, strategy="bg_pbt", bg_pbt=cut, folder=tmp_path / "run")
    table = TurnTable.read(run.folder)
    _, line = generation_lines(generation_data(table))
    assert line.startswith("    the same architecture  (the best before): best ")
    students, tried, *_ = sections(table)["Generations"]
    assert students.series[0].texts[0] == "the same architecture: 1 rung"
    assert tried.y.categories == ["the same"]


class StoppedError(Exception):
    """Ends a run as a kill would."""


def test_a_run_in_the_middle_of_a_rung_can_be_shown(tmp_path, monkeypatch):
    decided = []

    def stop(name):
        decided.extend([name] if name == "journal.decide.done" else [])
        if len(decided) == 13:
            raise StoppedError

    monkeypatch.setattr(points, "hooks", [stop])
    with pytest.raises(StoppedError):
        evolute.run(**SETTINGS, bg_pbt=CUT, folder=tmp_path / "run")
    monkeypatch.setattr(points, "hooks", [])
    table = TurnTable.read(tmp_path / "run")
    (story,) = generation_data(table)
    assert story["stay"] is None
    assert 0 < story["turns"] < 32
    assert list(generation_lines([story]))
    assert charts(table)


def test_other_runs_have_no_such_section(tmp_path):
    run = evolute.run(**SETTINGS, bg_pbt={"generations": 0}, folder=tmp_path / "run")
    table = TurnTable.read(run.folder)
    assert sections(table)["Generations"] == []
    assert run_details(run)["generations"] == []
    assert not any(series.role in ("teacher", "border") for chart in charts(table) for series in chart.series)


@pytest.mark.parametrize(("candidates", "rungs"), [(12, [12, 4]), ([12, 8], [12, 8, 4]), (4, []), ([10, 6], [12, 8, 4])])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_show_tells_how_many_candidates_reached_each_rung_of_the_start(tmp_path, candidates, rungs, mode):
    cut = {"generations": 0, "candidates": candidates}
    run = evolute.run(**SETTINGS, bg_pbt=cut, mode=mode, folder=tmp_path / "run")
    assert run_details(run)["start"] == rungs
    assert list(start_lines(rungs)) == ([f"  start: {' → '.join(map(str, rungs))} candidates"] if rungs else [])


def test_candidates_of_a_start_are_not_students(folder):
    assert run_details(Run.open(folder))["start"] == [12, 4]


def test_fresh_weights_with_a_teacher_are_taught():
    assert str(origin(Order(1, 4, {}, teacher=Ref(3, 3)))) == "taught by 3"
    assert str(origin(Order(1, 4, {}, start=Ref(1, 3), teacher=Ref(3, 3)))) == "own"


def test_scores_of_architectures_are_those_that_the_strategy_learns_from(folder, table):
    with contextlib.closing(Journal.read(folder)) as journal:
        first = journal.decisions()[-1].state["first"]
    names = ("width", "depth", "activation", "norm")
    tried = tried_so_far(Run.open(folder).population, first, names)
    generations = generation_of(table)
    for generation in range(3):
        expected = {repr(dict(one.architecture)): one.score for one in tried if one.generation == generation}
        shown = {repr(one["architecture"]): one["score"] for one in architectures(table, generation, generations)}
        assert shown == expected


def test_checkpoints_stay_within_what_show_says(tmp_path, monkeypatch):
    """Students that wait for the end of a rung are durable too."""
    folder, counts = tmp_path / "run", []
    monkeypatch.setattr(points, "hooks", [lambda name: counts.append(len(list(folder.glob("checkpoints/*.state"))))])
    run = evolute.run(**SETTINGS, bg_pbt={**CUT, "generations": 1}, durable=1, keep="last 1", folder=folder)
    identity = run.meta.identity
    assert run.meta.keep.most(4, 36, barrier=True) < max(counts)
    assert max(counts) <= run.meta.keep.most(4, 36, barrier=True, retained=retained_at_most(identity, 4))
