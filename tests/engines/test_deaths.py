"""Workers that die: an order that kills every worker is found and blamed; workers that somebody else kills end no run."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from tests.engines.workers import children, reported

import evolute
from evolute.core.order import Order, Ref, Report
from evolute.core.protocols import EngineError
from evolute.core.resume import RemakeError
from evolute.core.solo import adapt
from evolute.core.worker import Worker
from evolute.engines import deaths
from evolute.engines.deaths import Deaths
from evolute.engines.links import restarts
from evolute.engines.processes import processes
from evolute.store.checkpoints import Checkpoints

A, B, C = Ref(0, 3), Ref(1, 3), Ref(2, 3)


def test_three_strikes_of_an_order_alone_are_its_own_fault_if_nobody_else_dies():
    record = Deaths()
    record.record([A, B, C], 60.0)
    assert record.strikes(A) == 0
    for strike in range(1, 4):
        assert not record.guilty(A)
        record.record([A], 60.0)
        assert record.strikes(A) == strike
    assert record.guilty(A)
    assert not record.guilty(B)


def test_several_orders_that_kill_at_once_are_all_to_blame():
    record = Deaths()
    for ref in (A, B, C) * 3:
        record.record([ref], 60.0)
    assert all(record.guilty(ref) for ref in (A, B, C))


@pytest.mark.parametrize("elsewhere", ["idle", "other orders"])
def test_strikes_at_the_rate_at_which_workers_die_elsewhere_are_no_ones_fault_however_many(elsewhere):
    record = Deaths()
    for _ in range(100):
        record.record([A], 60.0)
        record.survived += 60.0
        record.record([] if elsewhere == "idle" else [B], 60.0)
        record.acquit(B)
        assert not record.guilty(A)


def test_an_order_that_kills_at_once_is_to_blame_though_workers_die_elsewhere_now_and_then():
    record = Deaths()
    for _ in range(6):
        record.record([A], 0.1)
        record.survived += 100.0
        record.record([], 0.0)
    assert record.guilty(A)


def test_a_burst_of_deaths_counts_though_the_days_before_were_quiet():
    record = Deaths(survived=1e6)
    for _ in range(5):
        record.record([A], 60.0)
        record.survived += 60.0
        record.record([], 0.0)
    assert not record.guilty(A)


def test_an_order_that_was_trained_in_the_end_is_acquitted():
    record = Deaths()
    for _ in range(3):
        record.record([A], 60.0)
    record.acquit(A)
    assert not record.guilty(A)
    assert record.wait(A) == 0.0


def test_waits_grow_with_each_strike_and_not_for_ever():
    record, waits = Deaths(), []
    for _ in range(10):
        waits.append(record.wait(A))
        record.record([A], 1.0)
    assert waits[:4] == [0.0, 0.5, 1.0, 2.0]
    assert waits[-1] == 30.0


@contextlib.contextmanager
def engine(train, folder: Path, workers: int):
    with contextlib.closing(processes(Worker(adapt(train), Checkpoints(folder)), None, workers=workers)) as made:
        yield made


def reports(engine, orders: list[Order]) -> dict[int, Report]:
    engine.submit(orders)
    result: dict[int, Report] = {}
    while len(result) < len(orders):
        result |= {report.order.member: report for report in engine.wait()}
    return result


def kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def until(condition) -> None:
    """Wait for something that comes sooner or later; a minute is for machines that do much else."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def fatal(state, hparams, steps, seed):
    if hparams["fatal"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"total": hparams["number"]}, {"score": 0.0}


@pytest.mark.parametrize("killers", [{1}, {0, 1, 2, 3}])
def test_orders_that_kill_their_workers_fail_and_the_others_go_on(tmp_path, killers):
    orders = [Order(member, 0, {"fatal": member in killers, "number": member}) for member in range(4)]
    with engine(fatal, tmp_path, workers=2) as made:
        result = reports(made, orders)
        assert {member for member, report in result.items() if report.failed} == killers
        assert all(result[member].error == "the worker died 3 times in this turn (signal 9)" for member in killers)
        after = reports(made, [Order(member, 1, {"fatal": False, "number": member}) for member in range(4)])
        assert not any(report.failed for report in after.values())


def test_a_lost_state_that_kills_every_worker_that_makes_it_again_ends_the_run(tmp_path):
    made, fall = tmp_path / "made", tmp_path / "fall"

    def train(state, hparams, steps, seed):
        turn = 0 if state is None else state["turn"]
        if turn == 1 and hparams["h"] == 0.9:
            if made.exists() and fall.exists():
                os.kill(os.getpid(), signal.SIGKILL)
            made.touch()
        time.sleep(0.02)
        return {"turn": turn + 1}, {"score": hparams["h"]}

    def lose_all_states():
        until(lambda: (tmp_path / "run").exists() and reported(tmp_path / "run") >= 12)
        fall.touch()
        kill(children())

    thread = threading.Thread(target=lose_all_states)
    thread.start()
    with pytest.raises(RemakeError, match=r"member 0 .* cannot be made again: \d workers died while making it \(signal 9\)"):
        evolute.run(
            train,
            space={"h": evolute.Float(0.0, 1.0)},
            init={"hparams": [{"h": 0.9}, {"h": 0.1}, {"h": 0.2}]},
            strategy="random_search",
            population=3,
            stop={"turns": 100_000},
            durable=100_000,
            engine="processes",
            workers=2,
            folder=tmp_path / "run",
            display="none",
        )
    thread.join()
    assert children() == []


def test_an_order_whose_workers_are_killed_by_somebody_else_is_trained_in_the_end(tmp_path, monkeypatch):
    """Five times the worker that trains member 0 is killed, and each time the two others are killed too."""
    monkeypatch.setattr(deaths, "LONGEST_WAIT", 0.5)
    monkeypatch.setattr(restarts, "LONGEST_WAIT", 0.5)
    rounds, enough = 5, tmp_path / "enough"

    def train(state, hparams, steps, seed):
        if hparams["watched"]:
            (tmp_path / f"{os.getpid()}.pid").touch()
            while not enough.exists():
                time.sleep(0.01)
        return {"seed": seed}, {"score": 0.0}

    def workers() -> tuple[set[int], set[int]]:
        """Those that train member 0, and the others."""
        pids = set(children())
        watched = {pid for pid in pids if (tmp_path / f"{pid}.pid").exists()}
        return watched, pids - watched

    def disturb():
        try:
            for _ in range(rounds):
                disturb_once()
        finally:
            enough.touch()

    def disturb_once():
        until(lambda: [len(pids) for pids in workers()] == [1, 2])
        watched, others = workers()
        kill(others)
        until(lambda: len(workers()[1] - others) == 2)  # the engine has seen that they died
        kill(watched)
        until(lambda: not watched & workers()[0])

    thread = threading.Thread(target=disturb)
    thread.start()
    with engine(train, tmp_path / "states", workers=3) as made:
        result = reports(made, [Order(member, 0, {"watched": member == 0}, seed=member) for member in range(3)])
    thread.join()
    assert not any(report.failed for report in result.values())
    assert len(list(tmp_path.glob("*.pid"))) == rounds + 1


class Unbuildable:
    """A learner that ends every process that it is sent to while a file is there."""

    def __init__(self, trap: Path):
        self.trap = trap

    def __reduce__(self):
        return _built, (self.trap,)

    def train(self, state, hparams, steps, seed):
        return {"seed": seed}, {"score": 0.0}

    def save(self, state, folder):
        (folder / "seed").write_text(str(state["seed"]))

    def load(self, folder):
        return {"seed": int((folder / "seed").read_text())}


def _built(trap: Path) -> Unbuildable:
    if trap.exists():
        with trap.open("a") as file:
            file.write("x")
        os._exit(5)
    return Unbuildable(trap)


def test_workers_none_of_which_ever_starts_end_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(restarts, "STARTS", 3)
    (tmp_path / "trap").touch()
    with engine(Unbuildable(tmp_path / "trap"), tmp_path, workers=1) as made:
        made.submit([Order(0, 0, {})])
        with pytest.raises(EngineError, match=r"worker 0 died 3 times while it was starting \(exit code 5\)"):
            made.wait()


@pytest.mark.slow(reason="starts workers again and again")
def test_once_a_worker_has_started_others_may_die_while_starting_as_often_as_they_like(tmp_path, monkeypatch):
    monkeypatch.setattr(restarts, "STARTS", 2)
    monkeypatch.setattr(restarts, "LONGEST_WAIT", 0.5)
    trap = tmp_path / "trap"

    def release():
        until(lambda: trap.stat().st_size >= 5)
        trap.unlink()

    with engine(Unbuildable(trap), tmp_path, workers=1) as made:
        assert not reports(made, [Order(0, 0, {})])[0].failed
        trap.touch()
        kill(children())
        thread = threading.Thread(target=release)
        thread.start()
        assert not reports(made, [Order(0, 1, {})])[0].failed
        thread.join()
