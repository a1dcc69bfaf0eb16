"""Steering a run from outside: the files of requests, the command, forks, replays, and what is shown."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time

import pytest

import evolute
from evolute.cli.main import main
from evolute.core.request import Request
from evolute.report.data.details import run_details
from evolute.report.data.page import page_data
from evolute.runs import steer
from evolute.runs.replay import replay
from evolute.runs.result import Run
from evolute.runs.session import Launch
from evolute.runs.turns import TurnTable
from evolute.store import points
from evolute.store.journal import Journal
from evolute.store.requests import FOLDER, RequestFolder

SETTINGS = {
    "preset": "toy", "population": 3, "stop": {"turns": 8}, "seed": 3, "pbt": {"resample": 0.25}, "display": "none",
}  # fmt: skip
WIDER = {"kind": "bounds", "bounds": {"h0": {"kind": "float", "low": 1.5, "high": 3.0}}, "turn": 3}
PIN = {"kind": "pin", "member": 1, "turn": 2}


def canonical(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Trains a run for which requests are left as soon as it has a folder."""

    def train(name, *bodies, **changes):
        def leave(point):
            if point == "folder.named":
                for body in bodies:
                    RequestFolder(tmp_path / name).put(body)

        monkeypatch.setattr(points, "hooks", [leave])
        done = evolute.run(folder=tmp_path / name, **{**SETTINGS, **changes})
        monkeypatch.setattr(points, "hooks", [])
        return done

    return train


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with a finished run."""
    place = tmp_path_factory.mktemp("steer")
    evolute.run(folder=place / "run", **SETTINGS)
    return place


@pytest.mark.parametrize("point", ["request.begin", "request.half", "request.written"])
def test_a_request_that_was_not_finished_is_never_read(tmp_path, monkeypatch, point):
    class KilledError(BaseException):
        pass

    def hook(passed):
        if passed == point:
            raise KilledError

    monkeypatch.setattr(points, "hooks", [hook])
    folder = RequestFolder(tmp_path)
    with pytest.raises(KilledError):
        folder.put(PIN)
    assert folder.waiting() == []
    monkeypatch.setattr(points, "hooks", [])
    name = folder.put(PIN)
    assert folder.waiting() == [(name, PIN)]


def test_damaged_files_are_refused_and_others_left_alone(tmp_path, monkeypatch):
    def leave(point):
        if point == "folder.named":
            (tmp_path / "run" / FOLDER).mkdir()
            (tmp_path / "run" / FOLDER / "a.json").write_text('{"kind": "pi')
            (tmp_path / "run" / FOLDER / "notes.txt").write_text("mine")

    monkeypatch.setattr(points, "hooks", [leave])
    done = evolute.run(folder=tmp_path / "run", **SETTINGS)
    assert [answer.refused for answer in done.answers] == ["this is not a request: `evolute steer` writes them"]
    assert [path.name for path in (tmp_path / "run" / FOLDER).iterdir()] == ["notes.txt"]


def test_a_request_whose_file_outlived_its_decision_is_not_taken_twice(asked, tmp_path):
    asked("run", PIN)
    name = Run.open(tmp_path / "run").answers[0].name
    before = canonical(tmp_path / "run")
    RequestFolder(tmp_path / "run").put(PIN, name)
    done = evolute.resume(tmp_path / "run", stop={"turns": 9}, display="none")
    assert canonical(tmp_path / "run").startswith(before)
    assert len(done.answers) == 1
    assert not list((tmp_path / "run" / FOLDER).iterdir())


def test_show_and_pages_list_requests_and_the_bounds_that_are_in_force(asked, tmp_path):
    done = asked("run", PIN, WIDER, {"kind": "unpin", "member": 2}, {"kind": "pin", "member": 0, "turn": 99})
    shown = run_details(done)
    assert [(row["request"], row["decision"]) for row in shown["requests"]] == [
        ("unpin member 2", 0),
        ("pin member 1", 2),
        ("bounds h0=[1.5, 3]", 3),
        ("pin member 0", None),
    ]
    assert shown["space"]["h0"] == {"kind": "float", "low": 1.5, "high": 3.0}
    assert shown["members"][1]["weights"] == "own, pinned"
    assert page_data(TurnTable.read(done.folder))["requests"][2:] == [
        "steering, decision 3: bounds h0=[1.5, 3]",
        "steering, waiting: pin member 0",
    ]


def test_a_fork_carries_what_was_asked_before_its_turn(asked, tmp_path):
    asked("run", PIN, WIDER)
    fork = {"init": {"from": str(tmp_path / "run"), "turn": 2, "hparams": None}}
    early = evolute.run(folder=tmp_path / "early", **{**SETTINGS, **fork})
    assert [str(answer) for answer in early.answers] == ["pin member 1"]
    assert early.population[1].last.order.why["event"] == "pinned"
    fork["init"]["turn"] = 5
    late = evolute.run(folder=tmp_path / "late", **{**SETTINGS, **fork})
    assert len(late.answers) == 2
    assert canonical(tmp_path / "late") == canonical(tmp_path / "run")


def test_a_line_that_left_the_first_bounds_is_replayed_exactly(asked, tmp_path):
    done = asked("run", WIDER)
    agent = done.best
    assert any(turn.order.hparams["h0"] > 1 for turn in agent.lineage)
    replayed = replay(agent, Launch(folder=tmp_path / "again"), exact=True, seed=None)
    assert replayed.same == len(agent.lineage)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("push 1", "'push' is nothing that a run can be asked for; there are pin, unpin, clone, set, bounds"),
        ("pinn 1", "'pinn' is nothing that a run can be asked for; did you mean 'pin'?"),
        ("pin", "pin: write pin MEMBER"),
        ("pin 1 2", "pin 1 2: write pin MEMBER"),
        ("pin -1", "'-1' is not the number of a member"),
        ("pin 3", "there is no member 3: the run has members 0 to 2"),
        ("clone 1", "clone 1: write clone FROM TO"),
        ("set 1", "set 1: write set MEMBER NAME=VALUE …"),
        ("set 1 h0", "'h0': write NAME=VALUE"),
        ("set 1 x=1", "x is not evolved in this run; there are h0, h1"),
        ("set 1 h0=2", "h0=2 is not in [0, 1]"),
        ("set 1 h0=[", "'h0=[': the value is not valid YAML"),
        ("bounds h0=log[1,2]", "h0 is [0, 1], and only its bounds can change, not its kind"),
        ("bounds h0=[2,1]", "h0: [2, 1]: the lower bound must lie below the upper one"),
        ("pin 1", "nobody trains run now: --no-wait leaves the request for `evolute resume run`"),
    ],
)
def test_bad_requests_are_one_sentence(finished, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(finished)
    monkeypatch.setattr(sys, "argv", ["evolute"])
    with pytest.raises(SystemExit) as ended:
        main(["steer", "run", "--", *words.split()])
    assert ended.value.code == 2
    assert capsys.readouterr().err.strip() == f"error: {sentence}"


PROGRAM = """
import evolute, time
def slow(state, hparams, steps, seed):
    time.sleep(0.02)
    return {"n": 1}, {"score": hparams["x"]}
space = {"x": evolute.Float(0, 1)}
evolute.run(slow, space=space, population=3, stop={"time": 120.0}, folder="run", display="none")
"""


def test_the_command_waits_for_the_decision_and_says_when_the_run_stops(tmp_path, monkeypatch, capsys):
    (tmp_path / "train.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    with subprocess.Popen([sys.executable, "train.py"], cwd=tmp_path, stderr=subprocess.DEVNULL) as training:
        try:
            while not (tmp_path / "run" / "lock").exists():
                time.sleep(0.05)
            main_quietly(["steer", "run", "set", "1", "x=0.25"])
            assert "taken by decision" in capsys.readouterr().out
            main_quietly(["steer", "run", "unpin", "1"])
            assert "unpin member 1: refused, member 1 is not pinned" in capsys.readouterr().err
            waiting: list[str] = []
            name = steer.ask(tmp_path / "run", Request("pin", 1, turn=10**6))
            thread = threading.Thread(target=lambda: waiting.append(waited(tmp_path / "run", name)))
            thread.start()
        finally:
            training.kill()
    thread.join(timeout=60)
    assert waiting == [f"{tmp_path / 'run'} stopped before a decision took the request, which is withdrawn"]
    assert RequestFolder(tmp_path / "run").waiting() == []
    assert any(order.hparams["x"] == 0.25 for order in orders_of(tmp_path / "run", 1))


def main_quietly(arguments):
    with contextlib.suppress(SystemExit):
        main(arguments)


def waited(folder, name):
    try:
        return str(steer.wait(folder, name))
    except RuntimeError as error:
        return str(error)


def orders_of(folder, slot):
    return [turn.order for turn in Run.open(folder).population[slot].history()]
