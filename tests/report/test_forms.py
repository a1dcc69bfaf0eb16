"""Schedules as files and as simple forms."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest
import yaml

import evolute
from evolute.core.param import Choice, Float
from evolute.core.space import Space
from evolute.report.data.schedule import form, to_csv, to_yaml
from evolute.runs.schedule import schedule_rows

STEPS = np.arange(20) * 100.0
SCALE = Float(1e-6, 10.0, log=True)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("constant", [0.01] * 20),
        ("linear", list(1 + 0.004 * STEPS)),
        ("exponential", list(0.1 * np.exp(-0.003 * STEPS))),
        ("step", [0.1] * 7 + [0.001] * 13),
    ],
)
def test_each_form_is_recognised_also_through_noise(kind, values):
    found = form("lr", SCALE, STEPS, values)
    assert (found.form, round(found.fit, 3)) == (kind, 1.0)
    noisy = np.array(values) * np.exp(np.random.default_rng(0).normal(0, 0.05, 20))
    assert form("lr", SCALE, STEPS, list(noisy)).form == kind


def test_formulas_give_the_values_back():
    text = form("lr", SCALE, STEPS, list(0.1 * np.exp(-0.003 * STEPS))).text
    assert eval(text, {"exp": math.exp, "steps": 500}) == pytest.approx(0.1 * math.exp(-1.5), rel=1e-3)  # noqa: S307


def test_categories_and_short_schedules_have_a_form_too():
    assert form("act", Choice("a", "b"), STEPS[:3], ["a", "b", "b"]).text == "1 changes, ends at b"
    assert form("lr", SCALE, STEPS[:1], [0.1]).form == "constant"


def test_files_hold_the_line_of_descent(tmp_path):
    run = evolute.run(preset="toy", folder=tmp_path / "toy", display="none", stop={"turns": 9})
    space = Space.from_json(run.meta.space)
    line = run.best.lineage
    found = yaml.safe_load(to_yaml(line, space, "a\nhostile: title"))
    flat = [row["hparams"] for row in found["schedule"]["rows"] for _ in range(row["turns"])]
    assert flat == run.best.schedule
    read = list(csv.DictReader(io.StringIO(to_csv(line, space))))
    assert [{name: float(row[name]) for name in space} for row in read] == run.best.schedule
    assert [float(row["score"]) for row in read] == [turn.score for turn in line]
    assert [row["seed"] for row in schedule_rows(line, seeds=True)] == [turn.order.seed for turn in line]
