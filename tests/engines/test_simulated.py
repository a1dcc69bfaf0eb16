"""Async runs under a virtual clock: nobody waits for a slow member, and nothing else changes."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute import strategies
from evolute.core.param import Float
from evolute.core.protocols import Plan
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.simulated import simulated
from evolute.testing.memory import rehearse

PLAN = Plan(Space({"lr": Float(1e-3, 0.5, log=True)}), 6, interval=1)


def noisy(state, hparams, steps, seed):
    total = (0.0 if state is None else state["total"]) + np.random.default_rng(seed).normal(hparams["lr"])
    return {"total": total}, {"score": total}


def engine(**script):
    return lambda worker: simulated(worker, None, **script)


@pytest.mark.parametrize("strategy", [strategies.pbt, strategies.winner_takes_all, strategies.random_search])
def test_async_equals_sync_when_all_turns_take_the_same_time(strategy):
    sync, free = (rehearse(adapt(noisy), strategy(PLAN), PLAN, engine(), turns=8, barrier=barrier) for barrier in (True, False))
    assert sync.journal.lines == free.journal.lines
    assert sync.states.files == free.states.files


@pytest.mark.parametrize("exploit", ["truncation", "tournament"])
def test_a_slow_member_holds_nobody_up_in_async(tmp_path, exploit):
    def turns(mode: str) -> int:
        run = evolute.run(
            noisy,
            strategy="pbt",
            pbt={"exploit": exploit},
            space=dict(PLAN.space),
            population=6,
            mode=mode,
            engine="simulated",
            simulated={"durations": [10, 1, 1, 1, 1, 1]},
            stop={"time": 100.0},
            runs=tmp_path,
            display="none",
        )
        return sum(member.turns for member in run.population.members[1:])

    assert turns("async") >= 5 * turns("sync")


def test_a_limited_number_of_workers_takes_turns():
    calls = []

    def train(state, hparams, steps, seed):
        calls.append(seed)
        return None, {"score": 0.0}

    done = rehearse(adapt(train), strategies.random_search(PLAN), PLAN, engine(workers=2, durations=[2]), turns=3)
    assert all(member.turns == 3 for member in done.population.members)
    assert len(calls) == 18


def test_virtual_time_counts_for_the_time_limit_of_a_run(tmp_path):
    settings = {"engine": "simulated", "population": 3, "simulated": {"durations": [3600.0]}, "runs": tmp_path}
    run = evolute.run(noisy, space=dict(PLAN.space), stop={"time": "10h"}, display="none", **settings)
    assert [member.turns for member in run.population.members] == [10, 10, 10]
    assert run.elapsed == 36_000


def test_scripted_failures_and_turns_over_the_limit_fail(tmp_path):
    run = evolute.run(
        noisy,
        space=dict(PLAN.space),
        engine="simulated",
        population=4,
        simulated={"durations": [1, 1, 1, 50], "failures": [[1, 2]]},
        limit=10.0,
        stop={"turns": 4},
        runs=tmp_path,
        display="none",
    )
    failed = {turn.ref for member in run.population.members for turn in member.history() if turn.failed}
    assert failed == {(1, 2), (3, 0), (3, 1), (3, 2), (3, 3)}


def test_async_reports_decide_in_the_order_in_which_they_were_journalled():
    done = rehearse(adapt(noisy), strategies.pbt(PLAN), PLAN, engine(durations=[1, 2, 3, 4, 5, 6]), turns=5, barrier=False)
    again = rehearse(adapt(noisy), strategies.pbt(PLAN), PLAN, engine(durations=[1, 2, 3, 4, 5, 6]), turns=5, barrier=False)
    assert done.journal.lines == again.journal.lines
    starts = [turn.order.start for member in done.population.members for turn in member.history() if turn.order.start]
    assert any(start.turn != 0 for start in starts)
