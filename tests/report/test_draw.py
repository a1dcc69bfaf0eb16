"""Static plots and the report as files."""

from __future__ import annotations

import io
import itertools
import json
import re

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image
from tests.report import synthetic

from evolute.cli.plot import plot
from evolute.cli.report import report
from evolute.config.error import ConfigError
from evolute.report import draw
from evolute.report.figures.chart import Axis, Chart, Series
from evolute.store.error import StoreError


@pytest.fixture
def hostile(tmp_path):
    return synthetic.hostile(tmp_path)


def test_a_png_and_an_svg_are_drawn(tmp_path, monkeypatch, capsys):
    folder = synthetic.synthetic(tmp_path / "run", members=6, turns=8, bayesian=True)
    monkeypatch.chdir(tmp_path)
    plot(folder, None, kind=None, only=[], dark=False)
    with Image.open("run.png") as drawn:
        assert drawn.size[0] > 1500
    plot(folder, tmp_path / "tree.svg", kind="svg", only=["family"], dark=True)
    assert "wrote" in capsys.readouterr().out
    first = (tmp_path / "tree.svg").read_bytes()
    plot(folder, tmp_path / "tree.svg", kind="svg", only=["family"], dark=True)
    assert (tmp_path / "tree.svg").read_bytes() == first
    with pytest.raises(ConfigError, match="no plot is called nope; there are curves-by-line"):
        plot(folder, None, kind=None, only=["nope"], dark=False)
    with pytest.raises(ConfigError, match="do not agree"):
        plot(folder, tmp_path / "a.png", kind="svg", only=[], dark=False)


def test_the_report_is_one_file_that_names_no_other(tmp_path):
    folder = synthetic.synthetic(tmp_path / "run", members=4, turns=5)
    report(folder, tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text()
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", text)
    assert "https://" not in text
    data = json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])
    assert data["best"]["score"] == pytest.approx(max(row["score"] for row in data["members"]))
    assert {chart["key"] for chart in data["charts"]} >= {"curves-by-line", "curves-by-member", "family", "hparam-lr"}


def test_hostile_names_and_values_are_escaped(hostile, tmp_path):
    report(hostile, tmp_path / "evil.html")
    text = (tmp_path / "evil.html").read_text()
    assert "<img" not in text
    assert text.count("</script>") == text.count("<script")
    assert json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])["learner"] == synthetic.EVIL
    plot(hostile, tmp_path / "evil.svg", kind=None, only=[], dark=False)
    assert "<img" not in (tmp_path / "evil.svg").read_text()


def test_what_is_no_run_gives_a_sentence(tmp_path):
    (tmp_path / "journal.sqlite").write_text("nonsense")
    with pytest.raises(StoreError, match="is not a journal of Evolute"):
        report(tmp_path, None)
    with pytest.raises(StoreError, match="is not a run"):
        plot(tmp_path / "absent", None, kind=None, only=[], dark=False)
    empty = synthetic.synthetic(tmp_path / "empty", members=2, turns=0, ended=None)
    with pytest.raises(StoreError, match="no finished turn yet"):
        report(empty, None)


def chart_of(x: Axis, y: Axis, series: Series) -> Figure:
    figure = Figure(figsize=(7, 4.4), layout="constrained")
    with rc_context(draw.SAFE):
        draw.draw(figure.add_subplot(), Chart("key", "title", x, y, [series]))
        figure.savefig(io.BytesIO())
    return figure


def test_numbers_between_powers_of_ten_are_plain_text():
    figure = chart_of(Axis("turn"), Axis("lr", log=True), Series("a", [0, 1, 2], [2e-4, 4e-4, 7e-4]))
    texts = [label.get_text() for label in figure.axes[0].get_yticklabels(which="minor")]
    assert {"0.0002", "0.0003", "0.0004", "0.0006"} <= set(texts)
    assert not any("$" in text for text in texts)


@pytest.mark.parametrize(
    "names", [[str(turn) for turn in range(0, 400, 10)], [*map(str, range(6)), "random", "past", "strong-1:2@5"]]
)
def test_names_below_a_heat_map_do_not_overlap(names):
    cells = Series("a", list(range(len(names))), [0] * len(names), kind="cells", values=[0.5] * len(names))
    axes = chart_of(Axis("turn", categories=names), Axis("member", categories=["0"]), cells).axes[0]
    shown = [label for label in axes.get_xticklabels() if label.get_text()]
    spans = [label.get_window_extent() for label in shown]
    assert all(left.x1 < right.x0 for left, right in itertools.pairwise(spans))
    assert len(shown) > 8
