"""Comparing runs: the statistics against known answers, and what counts as one arm and one task."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.report import synthetic

import evolute
from evolute.cli.compare import compare
from evolute.config.error import ConfigError
from evolute.report.data.compare import arms, best_so_far, charts, comparison, distinct, estimated, final, improvement, iqm
from evolute.runs.turns import TurnTable
from evolute.store.meta import Evaluation


def test_the_interquartile_mean_ignores_the_outer_quarters():
    assert iqm(np.array([1000.0, 1, 2, 3, 4, 5, 6, -1000])) == 3.5
    assert iqm(np.array([1.0, 2.0])) == 1.5


def test_the_probability_of_improvement_counts_pairs_and_half_of_ties():
    assert improvement(np.array([2.0, 3.0]), np.array([1.0, 2.0])) == (3 + 0.5) / 4
    assert improvement(np.array([1.0]), np.array([2.0])) == 0.0


def test_bootstrap_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    found = [estimated(lambda sample: float(sample.mean()), rng.normal(0, 1, 20)) for _ in range(60)]
    assert 0.85 <= np.mean([one.low <= 0 <= one.high for one in found]) <= 1.0
    assert estimated(iqm, np.array([1.0])).low is None


def test_runs_that_differ_in_the_seed_alone_are_one_arm(tmp_path):
    folders = [synthetic.synthetic(tmp_path / f"pbt{seed}", 4, 6, seed=seed) for seed in range(3)]
    folders += [synthetic.synthetic(tmp_path / f"other{seed}", 4, 9, seed=seed, strategy="other") for seed in range(3)]
    tables = [TurnTable.read(folder) for folder in folders]
    assert [(arm.name, len(arm.runs)) for arm in arms(tables)] == [("pbt", 3), ("other", 3)]
    found = comparison(tables)
    assert [arm["name"] for arm in found["arms"]] == ["other", "pbt"]
    assert found["pairs"][0]["better"]["value"] == 1.0
    assert found["arms"][0]["scores"] == [max(table.score[row] for row in table.latest.values()) for table in tables[3:]]
    ends, progress = charts(tables)
    assert list(ends.x.categories) == ["other", "pbt"]
    assert progress.series[0].y[-1] == pytest.approx(iqm(np.array([np.nanmax(table.score) for table in tables[3:]])))


def test_the_best_so_far_is_by_steps_of_a_member(tmp_path):
    table = TurnTable.read(synthetic.synthetic(tmp_path / "run", 3, 4))
    found = best_so_far(table, np.array([0, 1024, 4096]))
    assert np.isnan(found[0])
    assert found[1] == np.nanmax(table.score[table.turn == 0])
    assert found[2] == np.nanmax(table.score)


def test_the_measured_score_of_the_best_is_preferred(tmp_path):
    run = evolute.run(preset="toy", folder=tmp_path / "toy", display="none")
    table = TurnTable.read(run.folder)
    assert final(table) == run.best.score
    ref = run.best.turn.ref
    again = Evaluation(*ref, mean=0.5, deviation=0.1, episodes=3)
    assert final(replace(table, meta=replace(table.meta, evaluation=again))) == 0.5


def test_runs_of_different_tasks_are_refused(tmp_path):
    one = TurnTable.read(synthetic.synthetic(tmp_path / "one", 2, 2))
    other = TurnTable.read(synthetic.synthetic(tmp_path / "other", 2, 2))
    other.meta.identity["env"] = "Pendulum-v1"
    with pytest.raises(ConfigError, match="not runs of the same task: env is CartPole-v1 and Pendulum-v1"):
        arms([one, other])


def test_equal_runs_count_once_and_it_says_so(tmp_path):
    folders = [synthetic.synthetic(tmp_path / f"pbt{seed}", 4, 6, seed=seed) for seed in range(2)]
    again = synthetic.synthetic(tmp_path / "again", 4, 5, seed=1)
    tables = [TurnTable.read(folder) for folder in (again, *folders)]
    assert distinct(tables) == ([tables[2], tables[1]], {str(again): str(folders[1])})
    found = comparison(tables)
    assert sorted(found["arms"][0]["runs"]) == ["pbt0", "pbt1"]
    assert found["left_out"] == {str(again): str(folders[1])}
    assert found["note"].startswith(f"{again} is left out: it has the config and seed of {folders[1]}")
    ends, _ = charts(tables)
    assert sorted(ends.series[0].texts) == ["pbt0", "pbt1"]


def test_a_run_without_a_score_is_not_compared(tmp_path):
    empty = TurnTable.read(synthetic.synthetic(tmp_path / "empty", members=2, turns=0, ended=None))
    with pytest.raises(ConfigError, match="has no score yet, and cannot be compared"):
        final(empty)


def test_a_comparison_says_what_it_cannot_tell(tmp_path):
    tables = [TurnTable.read(synthetic.synthetic(tmp_path / name, 4, 6, strategy=name)) for name in ("pbt", "other")]
    tables[1] = replace(tables[1], meta=replace(tables[1].meta, ended=None))
    assert f"Not finished: {tables[1].folder}." in comparison(tables)["note"]
    assert "tournament" not in comparison(tables)["note"]
    tables[1] = replace(tables[1], meta=replace(tables[1].meta, ended="turns", ratings=[(0, 5, 1.0, 2.0)]))
    assert "Not finished" not in comparison(tables)["note"]
    assert "only games tell which run is better (`evolute tournament RUN RUN`)" in comparison(tables)["note"]


def test_one_run_on_each_side_is_no_probability(tmp_path, capsys):
    folders = [synthetic.synthetic(tmp_path / name, 4, 6, strategy=name) for name in ("pbt", "other")]
    compare(folders, Path(""), as_json=False)
    assert "with probability" not in capsys.readouterr().out
    folders += [synthetic.synthetic(tmp_path / "more", 4, 6, strategy="other", seed=1)]
    compare(folders, Path(""), as_json=False)
    assert "with probability" in capsys.readouterr().out
