"""`ls`, `show`, the report, the table and the population say the same about a run, whatever happened in it."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolute.core.order import Order, Ref, Report
from evolute.core.population import best
from evolute.report.data.details import run_details
from evolute.report.data.members import table_row
from evolute.report.data.page import page_data
from evolute.report.data.run_row import run_row
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

STEPS = 10


def written(folder: Path, size: int, decisions: list[tuple[list[Order], list[Report]]]) -> Path:
    """A run folder with these orders and reports."""
    folder.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(Journal.create(folder, RunMeta(population=size))) as journal:
        for number, (orders, reports) in enumerate(decisions):
            journal.decide(number, orders, {})
            journal.record(reports, number + 1.0)
    return folder


def order(member: int, turn: int, start: tuple[int, int] | None = None, **why) -> Order:
    return Order(member, turn, {}, None if start is None else Ref(*start), STEPS, 1, why=why)


def scored(given: Order, score: float | None) -> Report:
    return Report(given, {"score": score}, given.steps, digest="0" * 32)


def failed(given: Order) -> Report:
    return Report(given, error="Traceback\nValueError: no")


def test_ls_and_show_agree_on_the_best_when_a_turn_carried_its_score_over(tmp_path):
    first = [order(0, 0), order(1, 0)]
    second = [order(0, 1, (1, 0)), order(1, 1, (1, 0))]
    folder = written(
        tmp_path / "run",
        2,
        [(first, [scored(first[0], 2.0), scored(first[1], 5.0)]), (second, [scored(second[0], None), scored(second[1], 1.0)])],
    )
    assert run_details(Run.open(folder))["best"]["score"] == 5.0
    assert run_row(folder)["score"] == 5.0
    assert page_data(TurnTable.read(folder))["best"] == {"member": 0, "score": 5}


def test_a_failed_turn_does_not_hide_the_score_before_it_from_ls(tmp_path):
    first, second = order(0, 0), order(0, 1, (0, 0))
    folder = written(tmp_path / "run", 1, [([first], [scored(first, 3.0)]), ([second], [failed(second)])])
    assert run_row(folder)["score"] == run_details(Run.open(folder))["best"]["score"] == 3.0


@pytest.mark.parametrize("last_fails", [True, False])
def test_show_and_the_report_agree_on_a_members_steps_after_a_failure(tmp_path, last_fails):
    turns = [order(0, turn, (0, turn - 1) if turn else None) for turn in range(3)]
    turns.append(order(0, 3, (0, 2 if last_fails else 1)))
    reports = [scored(one, 1.0) for one in turns]
    reports[3 if last_fails else 2] = failed(turns[3 if last_fails else 2])
    folder = written(tmp_path / "run", 1, [([one], [report]) for one, report in zip(turns, reports, strict=True)])
    shown = run_details(Run.open(folder))["members"][0]
    page = page_data(TurnTable.read(folder))["members"][0]
    assert shown["steps"] == page["steps"] == 40
    assert shown["turns"] == page["turns"] == 4


@pytest.mark.parametrize(
    ("start", "why", "says"),
    [
        (None, {"event": "import"}, "imported"),
        (None, {}, "fresh"),
        ((0, 0), {}, "own"),
        ((1, 0), {"event": "inherit"}, "from 1"),
        ((1, 0), {"event": "rescue"}, "rescued by 1"),
    ],
)
def test_show_and_the_report_agree_on_where_weights_came_from(tmp_path, start, why, says):
    first, second = [order(0, 0), order(1, 0)], order(0, 1, start, **why)
    folder = written(tmp_path / "run", 2, [(first, [scored(one, 1.0) for one in first]), ([second], [scored(second, 2.0)])])
    assert run_details(Run.open(folder))["members"][0]["weights"] == says
    assert page_data(TurnTable.read(folder))["members"][0]["weights"] == says


@st.composite
def histories(draw):
    """Decisions of a random run: turns that score, score nothing or fail; heirs, fresh starts; the last orders may run."""
    size = draw(st.integers(1, 4))
    latest: dict[int, tuple[int, int]] = {}
    decisions = []
    turns = draw(st.integers(1, 6))
    for turn in range(turns):
        orders, reports = [], []
        for member in range(size):
            donor = draw(st.sampled_from([None, *latest])) if latest else None
            event = draw(st.sampled_from(["inherit", "rescue"] if donor is not None else ["import", "restart"]))
            orders.append(order(member, turn, None if donor is None else latest[donor], event=event))
        for one in orders:
            outcome = draw(st.sampled_from(["score", "none", "fail", *(["running"] if turn == turns - 1 else [])]))
            if outcome == "fail":
                reports.append(failed(one))
            elif outcome != "running":
                reports.append(scored(one, float(draw(st.integers(-2, 2))) if outcome == "score" else None))
        for report in reports:
            if not report.failed:
                latest[report.order.member] = tuple(report.order.ref)
        decisions.append((orders, reports))
    return size, decisions


@settings(max_examples=80, deadline=None)
@given(histories())
def test_all_views_of_a_run_agree(history):
    size, decisions = history
    with tempfile.TemporaryDirectory() as scratch:
        folder = written(Path(scratch) / "run", size, decisions)
        run, table = Run.open(folder), TurnTable.read(folder)
        top = best(run.population)
        assert run_row(folder)["score"] == (None if top is None else top.score)
        assert (None if table.best is None else (table.member[table.best], table.turn[table.best])) == (top and top.ref)
        told = run_details(run)
        assert told["members"] == [table_row(table, slot) for slot in range(size)]
        assert told["turns"] == run_row(folder)["turns"] == len(table)
        for member in run.population.members:
            for turn in member.history():
                (place,) = np.flatnonzero((table.member == turn.ref.member) & (table.turn == turn.ref.turn))
                assert table.line_steps[place] == turn.steps
                assert table.score[place] == turn.score or (turn.score is None and np.isnan(table.score[place]))
