"""Disk full and read-only folders in the middle of a run: a clear error, and the last good state still resumes."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

RUN = """
import json, os, resource, sys
from pathlib import Path
import numpy as np
import evolute

folder, trouble = Path(sys.argv[1]), sys.argv[2]

def train(state, hparams, steps, seed):
    turn = 0 if state is None else state["turn"]
    if turn == 30 and sys.argv[2] == "full":
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
    if turn == 30 and sys.argv[2] == "read-only":
        folder.chmod(0o555)
        (folder / "checkpoints").chmod(0o555)
        os.getuid() or os.setuid(65534)  # to root no folder is read-only
    return {"turn": turn + 1, "w": np.full(16_384, seed)}, {"score": hparams["h"]}

settings = dict(space={"h": "[0, 1]"}, population=4, stop={"turns": 60}, durable=1, display="none")
if trouble == "mend":
    folder.chmod(0o755)
    (folder / "checkpoints").chmod(0o755)
try:
    run = evolute.run(train, folder=folder, **settings)
except RuntimeError as error:
    print(json.dumps({"error": type(error).__name__, "text": str(error)}))
else:
    turns = [member.turns for member in run.population.members]
    print(json.dumps({"turns": turns, "score": run.best.score, "w": int(run.best.state["w"][0])}))
"""
SHOW = """
import os, sys
from evolute.cli.main import main
for _ in range(2):
    try:
        main(["show", sys.argv[1]])
    except SystemExit:
        pass
    os.getuid() or os.setuid(65534)
"""


def run(folder: Path, trouble: str) -> dict:
    done = subprocess.run([sys.executable, "-c", RUN, str(folder), trouble], capture_output=True, text=True, timeout=120)
    assert done.stdout, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def parent():
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        for path in Path(name).rglob("*"):
            path.chmod(0o755)


@pytest.mark.parametrize(("trouble", "said"), [("full", "File too large"), ("read-only", "Permission denied")])
def test_disk_trouble_stops_the_run_with_a_sentence_and_nothing_is_lost(parent, trouble, said):
    whole = run(parent / "whole", "none")
    hurt = run(parent / "hurt", trouble)
    assert hurt["error"] == "StoreError"
    assert said in hurt["text"] or "disk" in hurt["text"]
    assert f"to resume: evolute resume {parent / 'hurt'}" in hurt["text"]
    assert run(parent / "hurt", "mend") == whole


def test_a_folder_that_cannot_be_made_gives_a_sentence(parent):
    (parent / "file").touch()
    answer = run(parent / "file" / "run", "none")
    assert answer["error"] == "StoreError"
    assert "cannot make a run folder" in answer["text"]


def test_a_run_in_a_folder_that_cannot_be_written_can_still_be_shown(parent):
    run(parent / "whole", "none")
    for path in (parent / "whole", parent / "whole" / "checkpoints"):
        path.chmod(0o555)
    done = subprocess.run([sys.executable, "-c", SHOW, str(parent / "whole")], capture_output=True, text=True)
    assert done.stdout.count("best: member") == 2, done.stderr
