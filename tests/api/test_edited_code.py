"""Code that was edited since an unfinished run: a new run by default, and the old one if that is wanted."""

from __future__ import annotations

import contextlib
import subprocess
import sys

import pytest

import evolute
from evolute.runs.result import Run
from evolute.store.error import StoreError
from evolute.store.journal import Journal

TRAIN = "def train(state, hparams, steps, seed):\n    return hparams['h'], {'score': GAIN * hparams['h']}\n"
SETTINGS = {"space": {"h": evolute.Float(0, 1)}, "population": 2, "stop": {"turns": 3}, "display": "none"}


def learner(gain):
    """A training function as a cell of a notebook defines it."""
    names = {"__name__": "__main__"}
    exec(TRAIN.replace("GAIN", str(gain)), names)  # noqa: S102 - that is what a notebook does
    return names["train"]


def unfinish(folder):
    """Let a run look as if it had been stopped."""
    with contextlib.closing(Journal.write(folder)) as journal:
        journal.put(ended=None)


@pytest.fixture
def stopped(tmp_path):
    run = evolute.run(learner(1), runs=tmp_path, **SETTINGS)
    unfinish(run.folder)
    return run.folder


def test_the_same_code_continues_a_run_and_edited_code_starts_another(stopped, tmp_path):
    assert evolute.run(learner(1), runs=tmp_path, **SETTINGS).folder == stopped
    unfinish(stopped)
    other = evolute.run(learner(2), runs=tmp_path, **SETTINGS)
    assert other.folder != stopped
    unfinish(other.folder)
    assert evolute.run(learner(1), runs=tmp_path, **SETTINGS).folder == stopped  # code that is put back finds its run again


def test_edited_continues_the_old_run_and_notes_it(stopped, tmp_path):
    run = evolute.run(learner(2), runs=tmp_path, edited=True, **SETTINGS)
    assert run.folder == stopped
    assert any("code of the learner has changed" in str(note) for note in run.notes)
    unfinish(stopped)
    assert evolute.run(learner(2), runs=tmp_path, **SETTINGS).folder == stopped  # the new code is the run's from now on


def test_a_folder_that_holds_a_run_of_other_code_is_refused(stopped):
    with pytest.raises(StoreError, match=r"code of the learner has changed since.*edited"):
        evolute.run(learner(2), folder=stopped, **SETTINGS)
    assert evolute.run(learner(2), folder=stopped, edited=True, **SETTINGS).folder == stopped


def test_resume_says_that_code_has_changed(stopped):
    run = evolute.resume(stopped, learner=learner(2), display="none")
    assert [note for note in run.notes if "code of the learner has changed" in str(note)]


def test_runs_without_fingerprints_are_continued(stopped, tmp_path):
    with contextlib.closing(Journal.write(stopped)) as journal:
        journal.put(code={})
    assert evolute.run(learner(2), runs=tmp_path, **SETTINGS).folder == stopped


def test_another_python_is_not_compared(stopped, tmp_path):
    with contextlib.closing(Journal.write(stopped)) as journal:
        journal.put(code={**journal.meta.code, "python": "3.9"})
    assert evolute.run(learner(2), runs=tmp_path, **SETTINGS).folder == stopped


ENV = """
import gymnasium, numpy as np

class Line(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return np.zeros(1, np.float32), {}

    def step(self, action):
        return np.zeros(1, np.float32), PRIZE, True, False, {}
"""


def evolved(folder, *words):
    command = [sys.executable, "-m", "evolute", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize(
    "kind",
    [
        "script",
        *(
            pytest.param(kind, marks=pytest.mark.slow(reason="the same for code in two other places"))
            for kind in ("learner", "environment")
        ),
    ],
)
def test_the_program_says_which_code_has_changed(tmp_path, kind):
    old, new, file = {
        "learner": (TRAIN, TRAIN.replace("'score': ", "'score': 2 * "), "own.py"),
        "environment": (ENV.replace("PRIZE", "1.0"), ENV.replace("PRIZE", "2.0"), "own.py"),
        "script": ("print(1)\n", "print(2)\n", "own.py"),
    }[kind]
    settings = {
        "learner": ["learner=own:train", "train.h=[0,1]"],
        "environment": ["learner=ppo", "env=own:Line", "ppo.lr=log[1e-4,1e-3]"],
        "script": ["learner=script", "script.command=python own.py", "script.h=[0,1]"],
    }[kind]
    run = ["run", "-m", *settings, "population=2", "stop.turns=2", "--dry-run"]
    (tmp_path / file).write_text(old.replace("GAIN", "1"))
    first = evolved(tmp_path, *run)
    assert "a new folder" in first
    (tmp_path / "record.py").write_text(RECORD)
    subprocess.run([sys.executable, "record.py", *run[2:-1]], cwd=tmp_path, check=True)
    assert "resumes runs/" in evolved(tmp_path, *run)
    (tmp_path / file).write_text("# a comment\n" + old.replace("GAIN", "1"))
    assert "resumes runs/" in evolved(tmp_path, *run)
    (tmp_path / file).write_text(new.replace("GAIN", "1"))
    said = evolved(tmp_path, *run)
    what = "learner" if kind == "script" else kind
    assert "a new folder" in said
    assert f"the code of the {what} has changed since runs/" in said
    assert "resumes runs/" in evolved(tmp_path, *run, "--edited")


RECORD = """
import sys, time
from pathlib import Path
from evolute.config.layers import override, stack
from evolute.config.resolve import resolved
from evolute.runs import folders
from evolute.runs.assemble import described
from evolute.store.meta import RunMeta
config = resolved(stack(map(override, sys.argv[1:])))
folders.create(None, Path("runs"), config.name, RunMeta(created=time.time(), **described(config)))
"""


def test_only_own_code_has_a_fingerprint(stopped):
    assert set(Run.open(stopped).meta.code) == {"learner", "python"}
