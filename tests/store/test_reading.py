"""Reading a run never disturbs it, and always tells of one moment."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import evolute
from evolute.report.data.details import run_details
from evolute.runs.result import Run
from evolute.store.error import StoreError
from evolute.store.journal import Journal

KILLED = """
import os, sys
import evolute

def train(state, hparams, steps, seed):
    turn = 0 if state is None else state["turn"]
    if turn == 20:
        os.kill(os.getpid(), 9)
    return {"turn": turn + 1}, {"score": hparams["h"]}

evolute.run(train, space={"h": [0, 1]}, population=3, stop={"turns": 50}, folder=sys.argv[1], display="none")
"""
SHOW = """
import os, sys
from evolute.report.data.details import run_details
from evolute.runs.result import Run
run_details(Run.open(sys.argv[1]))
os.getuid() or os.setuid(65534)
print(run_details(Run.open(sys.argv[1]))["turns"])
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_run_can_be_read_all_the_time_while_it_is_written(tmp_path, mode):
    def train(state, hparams, steps, seed):
        return None, {"score": hparams["h"]}

    settings = {"space": {"h": [0, 1]}, "population": 5, "stop": {"turns": 150}, "mode": mode}
    writer = threading.Thread(
        target=evolute.run, args=(train,), kwargs={"folder": tmp_path / "run", "display": "none", **settings}
    )
    writer.start()
    seen = []
    while writer.is_alive():
        if (tmp_path / "run" / "journal.sqlite").exists():
            seen.append(run_details(Run.open(tmp_path / "run"))["turns"])
    writer.join()
    assert len(seen) > 5
    assert seen == sorted(seen)
    assert run_details(Run.open(tmp_path / "run"))["turns"] == 750


def test_a_killed_run_in_a_folder_that_cannot_be_written_is_read_to_its_last_turn(tmp_path):
    for path in [tmp_path, *tmp_path.parents[:3]]:
        path.chmod(0o755)
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "run")], capture_output=True)
    folder = tmp_path / "run"
    assert (folder / "journal.sqlite-wal").stat().st_size > 0
    truth = run_details(Run.open(folder))["turns"]
    assert truth >= 3 * 19
    for path in folder.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    folder.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", SHOW, str(folder)], capture_output=True, text=True)
    folder.chmod(0o755)
    assert done.stdout.strip() == str(truth), done.stderr


def test_an_inconsistent_journal_gives_a_sentence(tmp_path):
    made = evolute.run(preset="toy", folder=tmp_path / "run", display="none")
    journal = Journal.write(made.folder)
    journal.put(population=1)
    journal.close()
    with pytest.raises(StoreError, match="is inconsistent"):
        Run.open(made.folder)


def test_a_glance_tells_what_the_whole_story_tells(tmp_path):
    made = evolute.run(preset="toy", folder=tmp_path / "run", display="none")
    journal = Journal.read(made.folder)
    assert (journal.turn_count(), journal.best_score()) == (100, made.best.score)
    journal.close()
