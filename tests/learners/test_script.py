"""A program as a learner: what it is told and gives back, and what is shown when it fails."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time

import pytest

import evolute
from evolute.core.loop import AllFailedError
from evolute.core.protocols import TurnError
from evolute.learners.script import script

GOOD = """
import json, sys, pathlib
order = json.load(open(sys.argv[1]))
start = order["start"] and int(pathlib.Path(order["start"], "deep", "sum").read_text()) or 0
pathlib.Path(order["save"], "deep").mkdir()
pathlib.Path(order["save"], "deep", "sum").write_text(str(start + order["steps"]))
json.dump({"score": order["hparams"]["lr"], "seed": order["seed"]}, open(order["metrics"], "w"))
"""


def learner(tmp_path, code, **settings):
    path = tmp_path / "train.py"
    path.write_text(code)
    return script(command=shlex.join([sys.executable, "-S", str(path)]), **settings)


def test_a_program_gets_an_order_and_gives_files_and_metrics(tmp_path):
    made = learner(tmp_path, GOOD)
    files, metrics = made.train(None, {"lr": 0.5, "command": "…"}, 10, 7)
    assert (files, metrics) == ({"deep/sum": b"10"}, {"score": 0.5, "seed": 7})
    assert made.train(files, {"lr": 0.5}, 5, 8)[0] == {"deep/sum": b"15"}


FAILURES = {
    "crash": ("print('one'); raise RuntimeError('two')", ["| one", "| RuntimeError: two", "ended with exit code 1"]),
    "no signal": ("import sys; sys.exit(-1)", ["ended with exit code 255"]),
    "signal": ("import os; print('dying', flush=True); os.kill(os.getpid(), 9)", ["| dying", "ended with signal 9"]),
    "hang": ("print('waiting', flush=True); import time; time.sleep(60)", ["| waiting", "longer than its timeout of 1.5 s"]),
    "silence": ("", ["printed nothing", "wrote no file into the folder `save`"]),
    "no metrics": (GOOD.split("json.dump", maxsplit=1)[0], ["did not write the file `metrics`"]),
    "garbage": (
        GOOD + "\nopen(order['metrics'], 'wb').write(b'\\xff\\x00'); sys.stdout.buffer.write(b'\\x1b[31m\\xfe')",
        [r"| ?[31m\xfe", "metrics that are no JSON"],
    ),
    "a list": (GOOD + "\nopen(order['metrics'], 'w').write('[1]')", ["no JSON object: [1]"]),
}


@pytest.mark.parametrize("kind", FAILURES)
def test_a_failure_shows_the_last_lines_and_ends_with_the_reason(tmp_path, kind):
    code, shown = FAILURES[kind]
    with pytest.raises(TurnError) as caught:
        learner(tmp_path, code, timeout=1.5 if kind == "hang" else 60).train(None, {"lr": 1.0}, 1, 1)
    assert all(part in str(caught.value) for part in shown), str(caught.value)
    assert shown[-1] in str(caught.value).splitlines()[-1]


def test_only_the_last_lines_are_shown(tmp_path):
    with pytest.raises(TurnError) as caught:
        learner(tmp_path, "for number in range(1000): print(number)\nraise SystemExit(3)").train(None, {}, 1, 1)
    assert "| 980" in str(caught.value)
    assert "| 979" not in str(caught.value)


def test_a_program_that_cannot_be_started_is_told():
    with pytest.raises(TurnError, match="no-such-program cannot be started"):
        script(command="no-such-program").train(None, {}, 1, 1)
    with pytest.raises(ValueError, match=r"script\.command is empty"):
        script(command=" ")


def test_one_member_fails_and_the_run_goes_on(tmp_path):
    code = GOOD + "\nif order['hparams']['lr'] > 0.5: print('too fast'); sys.exit(2)"
    path = tmp_path / "train.py"
    path.write_text(code)
    run = evolute.run(
        "script",
        script={"command": shlex.join([sys.executable, "-S", str(path)])},
        space={"lr": [0, 1]},
        init={"hparams": [{"lr": 0.2}, {"lr": 0.9}]},
        population=2,
        stop={"turns": 2},
        runs=str(tmp_path / "runs"),
        display="none",
    )
    failed = [turn for turn in run.population[1].history() if turn.report.failed]
    assert "| too fast" in failed[-1].report.error
    assert "Traceback" not in failed[-1].report.error
    assert run.best.state["deep/sum"] == b"2"


def test_all_failing_stops_the_run_with_what_the_program_said(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("print('my own words'); raise SystemExit(4)")
    with pytest.raises(AllFailedError, match="my own words"):
        evolute.run(
            "script",
            script={"command": shlex.join([sys.executable, str(path)])},
            population=2,
            stop={"turns": 1},
            runs=str(tmp_path / "runs"),
            display="none",
        )


def test_the_program_ends_with_whoever_started_it(tmp_path):
    """Also if that is killed: nothing is left that nobody waits for."""
    mark = tmp_path / "pid"
    train = tmp_path / "train.py"
    train.write_text(f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    starts = (
        "from evolute.learners.script import script; "
        f"script(command={shlex.join([sys.executable, '-S', str(train)])!r}).train(None, {{}}, 1, 1)"
    )
    starter = subprocess.Popen([sys.executable, "-c", starts])
    _until(lambda: mark.exists() and mark.read_text())
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    _until(lambda: not _lives(int(mark.read_text())))


def _lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as file:
        return file.read().split()[2] != "Z"


def _until(true, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)
