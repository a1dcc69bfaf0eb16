"""Runs in notebooks and at a Python prompt: what is shown while they train, afterwards, and after Ctrl-C."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time

import pytest

import evolute
import evolute.api
from evolute.report import notebook
from evolute.report.display import Display
from evolute.runs.result import Run

SPACE = {"lr": evolute.Float(1e-4, 1, log=True), "<b>": evolute.Choice("<i>", "&")}
SCRIPT = """
import pathlib, time, evolute
def train(state, hparams, steps, seed):
    if state is not None:
        pathlib.Path("begun").touch()
        time.sleep(60)
    return 1.0, {"score": hparams["h"]}
evolute.run(train, space={"h": [0, 1]}, population=3, stop={"turns": 4}, name="own")
"""


def train(state, hparams, steps, seed):
    return None, {"score": hparams["lr"]}


class Page:
    """Keeps what is shown, as the page of a notebook does."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __call__(self, content, *, display_id):
        assert display_id
        self.update(content)
        return self

    def update(self, content):
        self.seen.append(content._repr_html_())


def test_ctrl_c_ends_in_a_keyboard_interrupt_that_says_what_was_saved_and_how_to_resume(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    command = [sys.executable, "script.py"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    best = Run.open(tmp_path / "runs" / "own-1").best.score
    assert errors.splitlines()[-1] == (
        f"KeyboardInterrupt: stopped by SIGINT: finished turns are saved, best score so far {best:.4g}; "
        "to resume: evolute.resume('runs/own-1', learner=train)"
    )
    assert "During handling" not in errors
    assert re.findall(r'File ".*/(\w+\.py)"', errors) == ["script.py", "api.py", "api.py"]
    assert process.returncode == -signal.SIGINT


def test_a_run_at_a_prompt_says_its_state_its_best_score_and_its_schedule(tmp_path):
    run = evolute.run(train, space=SPACE, population=4, stop={"turns": 9}, runs=tmp_path, display="none")
    first, title, *schedule = repr(run).splitlines()
    assert first == f"Run {tmp_path}/train-1: finished its 9 turns; best score {run.best.score:.4g} (member {run.best.member})"
    assert title == "schedule of the best:"
    assert schedule[-1].endswith(f"lr={run.best.hparams['lr']:.4g}  <b>={run.best.hparams['<b>']}")
    assert re.match(r"  turns? 0", schedule[0])


def test_long_schedules_are_shortened_at_a_prompt(tmp_path):
    run = evolute.run(preset="toy", runs=tmp_path, display="none")
    assert len(repr(run).splitlines()) == 9
    assert re.search(r"\n  … \d+ more changes …\n", repr(run))


def test_a_run_without_a_score_says_so(tmp_path, stopped_at):
    stopped_at(9, lambda: evolute.run(train, space=SPACE, folder=tmp_path / "run", display="none"))
    run = evolute.Run.open(tmp_path / "run")
    assert repr(run) == f"Run {tmp_path}/run: unfinished; no score yet"
    assert "no score yet" in run._repr_html_()


def test_a_notebook_shows_a_run_as_a_table_of_its_members(tmp_path):
    run = evolute.run(train, space=SPACE, population=40, stop={"turns": 3}, runs=tmp_path, display="none")
    page = run._repr_html_()
    assert "<th>&lt;b&gt;</th>" in page
    assert "<b>" not in page
    assert len(re.findall(r"<tr[^>]*><td>\d+</td>", page)) == 32
    assert "8 more members" in page
    (bold,) = re.findall(r"<tr style=font-weight:bold><td>(\d+)</td>", page)
    assert int(bold) == run.best.member
    assert "schedule of the best" in page


def test_a_notebook_shows_progress_that_replaces_itself(tmp_path, monkeypatch, capsys):
    page = Page()
    monkeypatch.setattr(notebook, "EVERY", 0.0)
    monkeypatch.setattr(evolute.api, "_display", lambda how: Display(notebook.NotebookTable(sys.stdout, page)))
    run = evolute.run(train, space=SPACE, population=3, stop={"turns": 4}, runs=tmp_path)
    assert "train with pbt, turn 0" in page.seen[0]
    assert "<progress value=0.000" in page.seen[0]
    last = page.seen[-1]
    assert "train with pbt, turn 4" in last
    assert "<progress value=1.000" in last
    assert f"<td>{run.best.score:.4g}</td>" in last
    assert "&lt;i&gt;" in last or "&amp;" in last
    assert "<b>" not in last
    assert capsys.readouterr().out == ""


def test_outside_a_notebook_there_is_no_such_display():
    assert notebook.notebook_display() is None


CELL = """
import evolute, time
def train(state, hparams, steps, seed):
    time.sleep(0.1)
    return None, {"score": hparams["h"]}
run = evolute.run(train, space={"h": [0, 1]}, population=3, stop={"turns": 8})
run
"""


def test_a_real_notebook_shows_progress_and_then_the_run(tmp_path):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    nbclient.NotebookClient(book, resources={"metadata": {"path": str(tmp_path)}}).execute()
    progress, result = (output for output in book.cells[0].outputs if "data" in output)
    assert "<progress value=1.000" in progress["data"]["text/html"]
    assert "finished its 8 turns" in result["data"]["text/html"]
    assert "schedule of the best" in result["data"]["text/plain"]
