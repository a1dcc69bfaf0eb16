"""A run with several objectives: every view shows the same front."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

import evolute
from evolute.config.layers import preset, python, stack
from evolute.config.resolve import resolved
from evolute.core.pareto import fronts
from evolute.report import lines
from evolute.report.data.details import run_details
from evolute.report.data.page import page_data
from evolute.report.display import Display
from evolute.report.figures import front
from evolute.report.lines import Lines
from evolute.report.summary import full_summary, summary
from evolute.report.watched import Watched
from evolute.runs.session import Launch, launch
from evolute.runs.turns import TurnTable


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("front") / "run"
    return evolute.run(preset="tradeoff", population=8, stop={"turns": 6}, folder=folder, display="none")


def text(shown) -> str:
    out = io.StringIO()
    Console(file=out, width=300).print(shown)
    return out.getvalue()


def test_the_front_is_what_brute_force_finds_among_the_latest(run):
    latest = run.population.latest
    ranks = fronts(np.array([turn.objectives for turn in latest]))
    assert {agent.turn.ref for agent in run.front} == {t.ref for t, rank in zip(latest, ranks, strict=True) if rank == 0}
    assert 1 < len(run.front) < 8
    assert [agent.objectives[0] for agent in run.front] == sorted(agent.objectives[0] for agent in run.front)
    for agent in run.front:
        assert agent.score == pytest.approx(sum(agent.objectives))
        assert agent.objectives == tuple(agent.turn.report.metrics[name] for name in "ab")


def test_table_details_and_page_have_the_same_front(run):
    table, details = TurnTable.read(run.folder), run_details(run)
    refs = [agent.turn.ref for agent in run.front]
    assert [table.ref(row) for row in table.front] == refs
    assert [(row["member"], row["turn"]) for row in details["front"]] == refs
    assert all(row["latest"] for row in details["front"])
    page = page_data(table)
    assert page["front"] == [ref.member for ref in refs]
    assert page["objectives"] == ["a", "b"]
    for one, row in zip(page["members"], details["members"], strict=True):
        assert one["objectives"] == pytest.approx(row["objectives"], rel=1e-5)


def test_summary_and_show_list_the_front(run):
    details = run_details(run)
    for shown in (text(summary(details)), text(full_summary(details, None))):
        assert f"front of {len(run.front)}: a " in shown
        for agent in run.front:
            assert re.search(
                rf"^ *{agent.member} +5 +{agent.objectives[0]:.4g} +{agent.objectives[1]:.4g} ", shown, re.MULTILINE
            )
    assert f"front of {len(run.front)} by a, b" in repr(run)


def test_the_plot_has_the_front_its_lines_of_descent_and_the_border_of_what_it_dominates(run):
    table = TurnTable.read(run.folder)
    (chart,) = front.charts(table)
    dominated, border, best = chart.series
    assert list(zip(best.x, best.y, strict=True)) == [agent.objectives for agent in run.front]
    assert len(dominated.x) == 8 - len(best.x)
    for place, agent in enumerate(run.front):
        xs, ys = best.lines[place]
        assert list(zip(xs, ys, strict=True)) == [turn.objectives for turn in agent.lineage]
        assert f"member {agent.member} after turn 5; line of descent of {len(agent.lineage)} turns" in best.stories[place]
        assert f"w={agent.hparams['w']:.4g}" in best.texts[place]
    corners = list(zip(border.x, border.y, strict=True))
    assert corners[::2] == [agent.objectives for agent in run.front]
    assert all((x, y) == (corners[k][0], corners[k + 2][1]) for k, (x, y) in enumerate(corners[1:]) if k % 2 == 0)


def test_a_run_with_one_score_has_no_front(tmp_path):
    run = evolute.run(preset="toy", stop={"turns": 2}, folder=tmp_path / "run", display="none")
    assert run.front == []
    assert run_details(run)["front"] == []
    assert front.charts(TurnTable.read(run.folder)) == []


def test_lines_and_the_live_table_tell_the_front(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "EVERY", 0.0)
    config = resolved(stack([preset("tradeoff"), python({"population": 6, "stop": {"turns": 3}})]))
    out = io.StringIO()
    run = launch(config, Display(Lines(out)).watching(Launch(folder=tmp_path / "run")))
    assert f"turn 3: front of {len(run.front)}: a " in out.getvalue()
    table = Watched(run.folder, config, run.population)
    assert table.best_members == {agent.member for agent in run.front}
    names = [column.name for column in table.columns(run.population.members)]
    assert names == ["member", "a", "b", "w", "s", "weights", "turn"]
