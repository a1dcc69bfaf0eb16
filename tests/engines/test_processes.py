"""Training in several processes: workers that are killed, stopped, raise or run out of memory, and leaders that die."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from tests.engines.workers import alive, appeared, children, killing, noisy, outcome, reported, vanished

import evolute
from evolute.engines.links import processes as links
from evolute.report.data.details import run_details

SETTINGS = {"space": {"lr": evolute.Float(1e-3, 0.5, log=True)}, "population": 8, "display": "none"}


def run(folder: Path, **more):
    return evolute.run(noisy, folder=folder, **{**SETTINGS, **more})


def test_a_run_whose_workers_are_killed_all_the_time_ends_like_one_whose_are_not(tmp_path):
    """States become durable rarely, so that workers are also killed while they make lost states again."""
    settings = {"stop": {"turns": 15}, "durable": 8}
    run(tmp_path / "whole", **settings)
    with killing(tmp_path / "killed", turns=2) as victims:
        done = run(tmp_path / "killed", engine="processes", workers=4, noisy={"sleep": 0.05}, **settings)
    assert len(victims) >= 20
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")
    assert all(member.turns == 15 for member in done.population.members)
    assert run_details(done)["workers_lost"] >= 20
    assert children() == []


@pytest.mark.slow(reason="waits for a lease to run out in real time")
def test_a_worker_that_is_stopped_past_its_lease_is_replaced_and_its_late_report_is_rejected(tmp_path):
    run(tmp_path / "whole", stop={"turns": 30})

    def pause():
        victim = appeared(2)[0]
        while not (tmp_path / "stopped").exists() or reported(tmp_path / "stopped") < 8:
            time.sleep(0.05)
        os.kill(victim, signal.SIGSTOP)
        time.sleep(4.5)
        os.kill(victim, signal.SIGCONT)

    thread = threading.Thread(target=pause)
    thread.start()
    more = {"engine": "processes", "workers": 2, "processes": {"lease": 3.0}, "noisy": {"sleep": 0.1}}
    done = run(tmp_path / "stopped", stop={"turns": 30}, **more)
    thread.join()
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "whole")
    notices = [body["text"] for _, kind, body in done.notes if kind in ("worker lost", "late report")]
    assert "worker 0 died (silent for more than 3 s); starting another" in notices
    assert "worker 0 reported after it was replaced: its report was rejected" in notices
    assert run_details(done)["workers_lost"] >= 1


LEADER = """
import sys, evolute
from tests.engines.workers import noisy
space = {"lr": evolute.Float(1e-3, 0.5, log=True)}
evolute.run(noisy, folder=sys.argv[1], space=space, population=8, stop={"turns": 12}, engine=sys.argv[2], display="none",
            noisy={"sleep": 0.02}, durable=3, **({"workers": int(sys.argv[3])} if len(sys.argv) > 3 else {}))
"""


@pytest.mark.parametrize(
    "turns", [30, *(pytest.param(turns, marks=pytest.mark.slow(reason="the same early and late")) for turns in (1, 71))]
)
def test_a_killed_leader_takes_its_workers_with_it_and_the_run_goes_on_with_other_workers(tmp_path, turns):
    def start(folder: str, *engine: str) -> subprocess.Popen:
        return subprocess.Popen([sys.executable, "-c", LEADER, str(tmp_path / folder), *engine], cwd=Path(__file__).parents[2])

    assert start("whole", "inline").wait() == 0
    leader = start("killed", "processes", "2")
    workers = appeared(2, leader.pid)
    while not (tmp_path / "killed").exists() or reported(tmp_path / "killed") < turns:
        time.sleep(0.01)
    leader.kill()
    leader.wait()
    vanished(workers)
    assert start("killed", "processes", "3").wait() == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def test_a_run_may_move_between_engines(tmp_path):
    run(tmp_path / "whole", stop={"turns": 9})
    run(tmp_path / "moved", stop={"turns": 3})
    for turns, engine in ((6, {"engine": "processes", "workers": 2}), (9, {"engine": "inline"})):
        evolute.resume(tmp_path / "moved", learner=noisy, stop={"turns": turns}, display="none", **engine)
    assert outcome(tmp_path / "moved")[1] == outcome(tmp_path / "whole")[1]


def troubled(state, hparams, steps, seed):
    """Whoever has h above 0.8 in turn 1 of its line does what is asked for."""
    turn = 0 if state is None else state["turn"]
    if turn == 1 and hparams["h"] > 0.8:
        match hparams["trouble"]:
            case "raises":
                raise ArithmeticError("went wrong")
            case "out of memory":
                resource.setrlimit(resource.RLIMIT_AS, (2**33, 2**33))
                return {"turn": 2, "much": bytearray(2**34)}, {"score": 0.0}
            case "dies":
                os._exit(3)
            case "never returns":
                time.sleep(1000)
    return {"turn": turn + 1}, {"score": -hparams["h"]}


@pytest.mark.parametrize(
    ("trouble", "error"),
    [
        ("raises", "ArithmeticError: went wrong"),
        ("out of memory", "MemoryError"),
        ("dies", "the worker died 3 times in this turn (exit code 3)"),
        ("never returns", "the turn took longer than its limit of 1 s"),
    ],
)
def test_a_member_that_is_in_trouble_is_replaced_from_a_donor(tmp_path, trouble, error):
    done = evolute.run(
        troubled,
        space={"h": evolute.Float(0.0, 1.0)},
        troubled={"trouble": trouble},
        pbt={"burn_in": 1000, "quantile": 0.1},
        population=4,
        stop={"turns": 4},
        init={"hparams": [{"h": 0.9}, {"h": 0.1}, {"h": 0.2}, {"h": 0.3}]},
        engine="processes",
        workers=2,
        limit=1.0 if trouble == "never returns" else None,
        folder=tmp_path / "run",
        display="none",
    )
    turns = list(done.population[0].history())[::-1]
    assert error in turns[1].report.error
    assert turns[2].order.why["event"] == "rescue"
    assert all(member.turns == 4 for member in done.population.members)


def forgetful(state, hparams, steps, seed):
    """Cannot repeat itself, though it does not say so."""
    past = [] if state is None else state["past"]
    time.sleep(0.05)
    return {"past": [*past, time.time()]}, {"score": hparams["lr"]}


def test_states_that_are_lost_and_cannot_be_made_again_send_the_run_back_and_it_ends_all_the_same(tmp_path):
    with killing(tmp_path / "run", turns=20, seed=1) as victims:
        done = evolute.run(
            forgetful, folder=tmp_path / "run", engine="processes", workers=2, stop={"turns": 20}, durable=6, **SETTINGS
        )
    assert victims
    assert all(member.turns == 20 for member in done.population.members)
    for member in done.population.members:
        assert len(evolute.load(tmp_path / "run").member(member.slot).state["past"]) == 20


def test_none_of_2000_reports_at_once_is_lost(tmp_path):
    done = run(tmp_path / "run", engine="processes", workers=10, population=2000, stop={"turns": 1})
    assert sum(member.turns for member in done.population.members) == 2000
    assert not any(member.failed for member in done.population.members)


@pytest.mark.slow(reason="one member sleeps while the others go on")
def test_a_slow_member_holds_nobody_up_in_async(tmp_path):
    """In the time of one turn of the slow member; in sync that is one turn of everybody."""

    def slow(state, hparams, steps, seed):
        time.sleep(1.0 if hparams["h"] > 0.9 else 0.1)
        return {}, {"score": hparams["h"]}

    def turns(mode: str) -> list[int]:
        done = evolute.run(
            slow,
            space={"h": evolute.Float(0.0, 1.0)},
            strategy="random_search",
            init={"hparams": [{"h": 0.95}, {"h": 0.1}, {"h": 0.2}]},
            population=3,
            mode=mode,
            engine="processes",
            workers=3,
            stop={"time": 8.0},
            folder=tmp_path / mode,
            display="none",
        )
        return [member.turns for member in done.population.members]

    assert len(set(turns("sync"))) == 1
    slowest, *others = turns("async")
    assert min(others) >= 5 * slowest


def test_more_members_than_workers_take_turns_in_async(tmp_path):
    done = run(tmp_path / "run", engine="processes", workers=2, mode="async", stop={"turns": 5})
    assert [member.turns for member in done.population.members] == [5] * 8


def test_a_learner_that_cannot_be_sent_is_refused_in_a_sentence(tmp_path):
    lock = threading.Lock()

    def train(state, hparams, steps, seed):
        return lock, {"score": 0.0}

    with pytest.raises(RuntimeError, match="cannot be sent to another process"):
        evolute.run(train, space={"h": [0, 1]}, population=2, stop={"turns": 1}, engine="processes", runs=tmp_path)
    assert children() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_what_has_finished_and_leaves_no_process_behind(tmp_path, number):
    shutil.copy(Path(__file__).parents[1] / "cli" / "slow.py", tmp_path)
    command = [sys.executable, "-m", "evolute", "run", "-m", "learner=slow:train", "train.h=[0, 1]", "population=4"]
    command += ["train.hold=2", "stop.turns=8", "name=slow", "engine=processes", "workers=2"]
    leader = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    workers = appeared(2, leader.pid)
    while not (tmp_path / "begun-2").exists() and leader.poll() is None:
        time.sleep(0.02)
    leader.send_signal(number)
    _, errors = leader.communicate(timeout=120)
    assert leader.returncode == 128 + number
    assert "evolute resume runs/slow-1" in errors
    assert "Traceback" not in errors
    assert not any(alive(pid) for pid in workers)
    (tmp_path / "released").touch()
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True)
    assert [member["turns"] for member in json.loads(done.stdout.splitlines()[-1])["members"]] == [8, 8, 8, 8]


def test_workers_are_pinned_to_their_share_of_the_cores():
    cores = sorted(os.sched_getaffinity(0))
    shares = [links.share(number, 2) for number in range(2)]
    assert sorted(core for share in shares for core in share) == cores
    crowded = [links.share(number, 3 * len(cores)) for number in range(3 * len(cores))]
    assert sorted(crowded) == sorted([core] for core in cores for _ in range(3))
