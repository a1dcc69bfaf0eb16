"""The numbers behind the plots equal the journal's, read there in another way."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.report import synthetic

import evolute
from evolute.core.population import descent
from evolute.report.data.member_page import member_page
from evolute.report.figures import diversity, importance, model, speed
from evolute.report.figures.all import charts, sections
from evolute.report.figures.chart import BUDGET, to_json
from evolute.report.figures.curves import by_line, by_member, chains, living
from evolute.report.figures.family import takeovers, tree
from evolute.report.figures.metrics import title_of
from evolute.report.figures.paths import path
from evolute.runs.result import Run
from evolute.runs.turns import FRESH, TurnTable


def train(state, hparams, steps, seed):
    """A noisy climb whose pace depends on `lr` alone; now and then a turn fails, or shows no score."""
    rng = np.random.default_rng(seed)
    if seed % 23 == 0:
        raise ValueError("unlucky")
    place = (0.0 if state is None else state["place"]) + 1 - abs(math.log10(hparams["lr"]) + 2) + rng.normal(0, 0.1)
    return {"place": place}, {"score": None if seed % 11 == 0 else place, "loss": -place}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    space = {"lr": evolute.Float(1e-4, 1e-1, log=True), "noise": evolute.Float(0, 1), "kind": evolute.Choice("a", "b")}
    settings = {"population": 8, "interval": 10, "stop": {"turns": 20}, "mode": "async"}
    return evolute.run(train, space=space, display="none", runs=tmp_path_factory.mktemp("runs"), **settings)


@pytest.fixture(scope="module")
def table(run):
    return TurnTable.read(run.folder)


def history(run: Run):
    return {turn.ref: turn for member in run.population.members for turn in member.history()}


def test_the_table_equals_the_population_folded_from_the_journal(run, table):
    turns = history(run)
    assert len(table) == len(turns)
    for row in range(len(table)):
        turn = turns[(table.member[row], table.turn[row])]
        assert table.score[row] == turn.score or (turn.score is None and np.isnan(table.score[row]))
        assert (table.steps[row], table.line_steps[row]) == (turn.report.steps, turn.steps)
        assert table.hparams[row] == turn.order.hparams
        assert bool(table.failed[row]) == turn.failed
        parent = int(table.parent[row])
        found = None if parent == FRESH else (table.member[parent], table.turn[parent])
        assert found == (None if turn.parent is None else turn.parent.ref)
        assert parent < row


def test_the_winners_line_is_the_best_ones_line_of_descent(run, table):
    line = [(table.member[row], table.turn[row]) for row in table.best_line]
    assert line == [turn.ref for turn in descent(run.best.turn)][::-1]


def test_curves_by_member_are_the_scores_of_each_slot(run, table):
    drawn = {series.name: series for series in by_member(table).series}
    for member in run.population.members:
        scored = [turn for turn in list(member.history())[::-1] if turn.score is not None]
        assert drawn[f"member {member.slot}"].y == [turn.score for turn in scored]


def test_curves_by_line_never_jump_at_a_copy(run, table):
    turns = history(run)
    chart = by_line(table)
    winner = next(series for series in chart.series if series.role == "winner")
    scored = [turn for turn in run.best.lineage if turn.score is not None]
    assert list(winner.y) == [turn.score for turn in scored]
    assert list(winner.x) == [turn.steps for turn in scored]
    assert sum(len(chain) for chain in chains(table, np.flatnonzero(~table.failed))) >= len(turns) - table.failed.sum()
    for chain in chains(table, np.flatnonzero(~table.failed)):
        assert [int(table.parent[row]) for row in chain[1:]] == chain[:-1]


def test_the_family_tree_has_every_take_over_and_every_failure(run, table):
    turns = history(run).values()
    taken = [turn.ref for turn in turns if turn.order.start is not None and turn.order.start.member != turn.ref.member]
    assert sorted((int(table.member[row]), int(table.turn[row])) for row in takeovers(table)) == sorted(taken)
    parts = {series.role: series for series in tree(table).series}
    assert len(parts["takeover"].x) == 2 * len(taken)
    assert sorted(zip(parts["failure"].y, parts["failure"].x, strict=True)) == sorted(t.ref for t in turns if t.failed)
    assert all("unlucky" in text for text in parts["failure"].texts)


def test_living_rows_are_those_that_a_latest_state_descends_from(run, table):
    refs = {turn.ref for member in run.population.members if member.latest for turn in descent(member.latest)}
    assert {(int(table.member[row]), int(table.turn[row])) for row in np.flatnonzero(living(table))} == refs


def test_a_hyper_parameters_path_has_every_value_and_the_winners_schedule(run, table):
    chart = path(table, "lr")
    winner = chart.series[-1]
    assert chart.y.log
    assert list(winner.y) == [hparams["lr"] for hparams in run.best.schedule]
    for series, member in zip(chart.series, run.population.members, strict=False):
        assert list(series.y) == [turn.order.hparams["lr"] for turn in list(member.history())[::-1]]
    kinds = path(table, "kind")
    assert list(kinds.y.categories) == ["a", "b"]
    assert [kinds.y.categories[int(place)] for place in kinds.series[-1].y] == [
        hparams["kind"] for hparams in run.best.schedule
    ]


def test_the_parameter_that_decides_gains_is_the_important_one(tmp_path):
    shares = importance.importance(TurnTable.read(synthetic.synthetic(tmp_path / "lr", members=64, turns=6)))
    assert next(iter(shares)) == "lr"
    assert shares.pop("lr") > 3 * max(shares.values())


def sampled(counted):
    """A run whose turns tell of actors, and of more than there is room for."""

    def train(state, hparams, steps, seed):
        others = {f"other_{number}": float(seed % (number + 2)) for number in range(30)}
        told = {"samples_per_second": 900.0 + seed % 7} if counted else {}
        return {}, {"score": float(seed % 5), **others, **told, "lag": 1.0, "restarts": 0.0, "queue": None}

    return train


@pytest.mark.parametrize("counted", [True, False])
def test_a_report_shows_actors_also_if_none_was_replaced(counted, tmp_path):
    settings = {"space": {"lr": [0.1, 0.5]}, "population": 2, "stop": {"turns": 3}, "display": "none"}
    table = TurnTable.read(evolute.run(sampled(counted), folder=tmp_path / "run", **settings).folder)
    shown = {chart.key: chart for chart in sections(table)["Actors"]}
    assert list(shown) == (["metric-samples_per_second", "metric-lag", "metric-restarts"] if counted else [])
    assert not shown.keys() & {chart.key for chart in sections(table)["The learner's metrics"]}
    pictures = {chart["key"] for chart in member_page(table, 0)["charts"]}
    assert pictures >= shown.keys()
    if counted:
        assert {value for series in shown["metric-restarts"].series for value in series.y} == {0.0}


def test_importance_says_nothing_of_too_few_gains(tmp_path):
    few = TurnTable.read(synthetic.synthetic(tmp_path / "few", members=4, turns=3))
    assert importance.importance(few) == {}
    assert importance.charts(few) == []


def test_diversity_is_one_for_uniform_draws_and_falls_to_zero_for_copies(table, tmp_path):
    wide = TurnTable.read(synthetic.synthetic(tmp_path / "wide", members=400, turns=1))
    for name in synthetic.SPACE:
        assert diversity.spread(wide, name)[0] == pytest.approx(1.0, abs=0.12)
    units = [[table.units["lr"][row] for row in np.flatnonzero(table.turn == turn)] for turn in range(20)]
    assert diversity.spread(table, "lr") == pytest.approx([np.std(row) * 12**0.5 for row in units])


def test_founders_are_those_that_still_have_descendants(run, table):
    found = diversity.founders(table)
    assert found[0] == len(run.population) - sum(turn.failed for turn in history(run).values() if turn.ref.turn == 0)
    last = [turn for turn in history(run).values() if turn.ref.turn == 19 and not turn.failed]
    assert found[19] == len({list(descent(turn))[-1].ref for turn in last})


def test_totals_are_the_journals(run, table):
    turns = history(run).values()
    found = speed.totals(table)
    assert found["turns"] == len(turns)
    assert found["steps"] == sum(turn.report.steps for turn in turns)
    assert found["elapsed"] == run.elapsed
    assert found["failed"] == sum(turn.failed for turn in turns) > 0
    drawn = {chart.key: chart for chart in speed.charts(table)}
    assert drawn["steps"].series[0].y[-1] == found["steps"]
    assert sum(drawn["failures"].series[0].y) == found["failed"]


def test_speeds_add_up_to_all_steps():
    elapsed, steps = np.array([1.0, 2.0, 3.0, 4.0]), np.cumsum([10, 10, 30, 30])
    middles, rates = speed.speeds(elapsed, steps)
    assert list(middles) == [1.0, 3.0]
    assert list(rates) == [10.0, 30.0]


def test_a_models_predictions_are_set_against_what_was_gained(tmp_path):
    table = TurnTable.read(synthetic.synthetic(tmp_path / "bayes", members=8, turns=6, bayesian=True))
    rows, expected, uncertainty, gain = model.predictions(table)
    assert len(rows)
    for row, predicted, sure, got in zip(rows, expected, uncertainty, gain, strict=True):
        assert predicted == table.why[row]["gain"]
        assert sure == table.why[row]["uncertainty"]
        assert got == table.own_score[row] - table.score[table.parent[row]]
    keys = {chart.key for chart in charts(table)}
    assert {"predictions", "region", "weights-activation"} <= keys


def test_big_plots_are_thinned_and_say_so(tmp_path, monkeypatch):
    table = TurnTable.read(synthetic.synthetic(tmp_path / "long", members=16, turns=100))
    monkeypatch.setattr("evolute.report.figures.downsample.stride.__defaults__", (300,))
    chart = by_member(table)
    assert "One turn in 6 is drawn." in chart.note
    assert sum(len(series.x) for series in chart.series if series.role == "member") < 400 < BUDGET
    whole = table.score[table.member == 0]
    assert chart.series[0].y[0] == whole[0]
    assert chart.series[0].y[-1] == whole[-1]


def test_json_has_six_digits_and_no_infinity(table):
    for chart in charts(table):
        for series in to_json(chart)["series"]:
            assert all(value is None or math.isfinite(value) for value in [*series["x"], *series["y"]])


def test_a_run_without_a_finished_turn_has_no_plots(tmp_path):
    assert charts(TurnTable.read(synthetic.synthetic(tmp_path / "empty", members=4, turns=0, ended=None))) == []


def test_a_frame_holds_every_turn(run):
    frame = run.frame()
    turns = history(run)
    assert len(frame) == len(turns)
    for row in frame.itertuples():
        turn = turns[(row.member, row.turn)]
        assert row.line_steps == turn.steps
        assert row.failed == turn.failed
        assert row.start_member is missing() if turn.order.start is None else row.start_member == turn.order.start.member
    assert frame["hparams.lr"].tolist() == [
        turns[ref].order.hparams["lr"] for ref in zip(frame.member, frame.turn, strict=True)
    ]
    assert frame[frame.winner]["turn"].tolist() == [turn.ref.turn for turn in run.best.lineage]
    assert {"metrics.score", "metrics.loss", "hparams.kind"} <= set(frame.columns)


def missing():
    import pandas

    return pandas.NA


def learnt(tmp_path, **settings):
    """A run whose learner reports metrics: one that is the score, one that never changes, one that only some turns have."""

    def train(state, hparams, steps, seed):
        total = (0 if state is None else state) + hparams["x"]
        metrics = {"score": total, "return": total, "entropy": 1 / total, "constant": 3.0, "unknown": None}
        return total, {**metrics, **({"test_return": total / 2} if total > 2 else {})}

    space = {"x": evolute.Float(0.1, 1), "kind": evolute.Choice("a", "b")}
    settings = {"population": 4, "stop": {"turns": 6}, "display": "none", **settings}
    return TurnTable.read(evolute.run(train, space=space, folder=tmp_path / "run", **settings).folder)


@pytest.mark.parametrize(
    ("name", "title"), [("value_loss", "Value loss"), ("return.to_ball", "Return: to ball"), ("clipped", "Clip fraction")]
)
def test_metrics_have_titles_in_words(name, title):
    assert title_of(name) == title


def test_metrics_of_the_learner_are_drawn_along_lines_of_descent(tmp_path):
    table = learnt(tmp_path)
    drawn = {chart.key: chart for chart in charts(table) if chart.key.startswith("metric-")}
    assert list(drawn) == ["metric-test_return", "metric-entropy"], "not the score again, and nothing that never changes"
    winner = next(series for series in drawn["metric-entropy"].series if series.role == "winner")
    assert list(winner.y) == pytest.approx([1 / table.score[row] for row in table.best_line])
    assert list(winner.x) == [table.line_steps[row] for row in table.best_line]
    tested = next(series for series in drawn["metric-test_return"].series if series.role == "winner")
    assert list(tested.y) == pytest.approx([table.score[row] / 2 for row in table.best_line if table.score[row] > 2])


def test_a_member_has_a_page_with_its_curve_and_its_hyper_parameters(tmp_path):
    table = learnt(tmp_path)
    for slot in range(4):
        page = member_page(table, slot)
        line = table.ancestry(table.latest[slot])
        keys = [chart["key"] for chart in page["charts"]]
        assert keys == ["curve", "metric-test_return", "metric-entropy", "hparam-x", "hparam-kind"]
        assert page["charts"][0]["series"][0]["y"] == pytest.approx([table.score[row] for row in line], rel=1e-5)
        assert [row[1] for row in page["schedule"]] == [table.member[row] for row in line]
        assert [row[3] for row in page["schedule"]] == pytest.approx([table.hparams[row]["x"] for row in line], rel=1e-5)
        assert page["best"] == (slot == table.member[table.best])
        json.dumps(page, allow_nan=False)


@pytest.mark.slow(reason="draws the pages of a large population")
def test_the_pages_of_a_large_population_stay_small(tmp_path):
    table = TurnTable.read(synthetic.synthetic(tmp_path / "run", members=64, turns=300))
    points = sum(
        len(series["x"]) for slot in range(64) for one in member_page(table, slot)["charts"] for series in one["series"]
    )
    assert points < 2 * BUDGET
