"""Without matplotlib only plots as files are missing, and a line says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.report.synthetic import synthetic

WITHOUT = "import sys; sys.modules['matplotlib'] = None; from evolute.cli.main import main; main(sys.argv[1:])"
INSTALL = "pip install 'evolute[plot]'"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    for seed in (0, 1):
        synthetic(folder / "runs" / f"run-{seed}", 4, 5, seed=seed)
    return folder


def evolute(place, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], cwd=place, capture_output=True, text=True)


def test_plot_says_in_one_line_what_to_install(place):
    done = evolute(place, "plot", "run-0")
    assert (done.returncode, done.stderr) == (2, f"error: plots need matplotlib: {INSTALL}\n")


def test_compare_prints_its_table_and_leaves_out_the_default_plot(place):
    done = evolute(place, "compare", "run-0", "run-1")
    assert done.returncode == 0
    assert "interquartile mean" in done.stdout
    assert done.stderr == f"no plot: plots need matplotlib: {INSTALL}\n"
    assert not (place / "comparison.png").exists()


def test_compare_fails_if_a_picture_was_asked_for(place):
    done = evolute(place, "compare", "run-0", "run-1", "-o", "mine.png")
    assert (done.returncode, done.stderr) == (2, f"error: plots need matplotlib: {INSTALL}\n")
    assert "interquartile mean" in done.stdout


def test_compare_without_a_picture_says_nothing(place):
    done = evolute(place, "compare", "run-0", "run-1", "-o", "")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_report_needs_none(place):
    done = evolute(place, "report", "run-0")
    assert (done.returncode, done.stderr) == (0, "")
    assert (place / "run-0.html").stat().st_size > 10_000
