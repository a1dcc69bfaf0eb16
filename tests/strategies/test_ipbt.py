"""Iterated PBT: when it starts again, with whom, and what it keeps."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import evolute
from evolute.core.lineage import origin
from evolute.core.param import Float
from evolute.core.population import descent
from evolute.core.protocols import Plan
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.engines.inline import inline
from evolute.engines.simulated import simulated
from evolute.store.journal import Journal
from evolute.strategies import ipbt, pbt
from evolute.strategies.stagnation import has_stopped, smoothed
from evolute.testing import check_strategy
from evolute.testing.memory import rehearse

SPACE = Space({"h": Float(0.0, 1.0, start=(0.4, 0.6))})


@pytest.mark.parametrize("architecture", [(), ("width",)])
def test_it_keeps_the_laws_of_a_strategy_while_it_starts_again(architecture):
    check_strategy(
        lambda plan: ipbt(plan, patience=1, window=2),
        lambda worker: simulated(worker, None, durations=[1, 2, 3]),
        turns=16,
        architecture=architecture,
        sizes=(1, 2, 5),
    )


@pytest.mark.parametrize(
    ("scores", "stopped"),
    [
        ([1.0] * 5, True),
        ([1.0, 1.0, 1.0], False),
        ([float(n) for n in range(40)], False),
        ([float(n) for n in range(10)] + [9.0] * 5, True),
        ([float(n) for n in range(10)] + [9.0, 8.0, 7.0, 6.0], True),
    ],
)
def test_a_series_has_stopped_once_it_no_longer_rises(scores, stopped):
    assert has_stopped(scores, patience=3, window=15) is stopped


def test_noise_is_neither_taken_for_progress_nor_for_an_end():
    rng = np.random.default_rng(0)
    rising = [has_stopped((np.arange(30) + rng.normal(0, 1, 30)).tolist(), patience=3, window=15) for _ in range(50)]
    flat = [has_stopped(rng.normal(0, 1, 30).tolist(), patience=3, window=15) for _ in range(50)]
    assert sum(rising) <= 2
    assert sum(flat) >= 30
    truth = np.sin(np.arange(40) / 6)
    noisy = truth + rng.normal(0, 0.3, 40)
    assert np.std(smoothed(noisy) - truth) < 0.6 * np.std(noisy - truth)


def rising_then_flat(state, hparams, steps, seed, teacher=None):
    """Gains for six turns, then nothing."""
    turns = 1 + (0 if state is None else state["turns"])
    return {"turns": turns}, {"score": float(min(turns, 6))}


def played(learner=rising_then_flat, *, size=6, turns=30, barrier=True, **settings):
    plan = Plan(SPACE, size, interval=10, turns=turns, links=frozenset(adapt(learner).links))
    make = (lambda worker: inline(worker, None)) if barrier else (lambda worker: simulated(worker, None, durations=[1, 2]))
    return rehearse(adapt(learner), ipbt(plan, **settings), plan, make, turns=turns, seed=3, barrier=barrier)


@pytest.mark.parametrize("barrier", [True, False])
def test_all_members_start_again_with_twice_the_period_and_half_of_them_taught(barrier):
    done = played(barrier=barrier)
    orders = [[turn.order for turn in member.history()][::-1] for member in done.population.members]
    restarts = [[order for order in line if order.why.get("event") == "restart"] for line in orders]
    counts = {len(found) for found in restarts}
    assert counts in ({1}, {2})
    first = [found[0] for found in restarts]
    assert all(order.start is None for order in first)
    assert [order.teacher is not None for order in first] == [True, True, False, False, True, True]
    teacher = done.population.find(first[0].teacher)
    assert teacher.score >= 6
    drawn = [order.hparams["h"] for order in first[1::2]]
    assert all(0.4 <= value <= 0.6 for value in drawn)
    *_, root = descent(teacher)
    near = [order.hparams["h"] for order in first[::2]]
    assert all(abs(value - root.order.hparams["h"]) < 0.4 for value in near)
    heirs = [order for line in orders for order in line if order.why.get("event") == "inherit"]
    ages = [order.turn - first[order.member].turn for order in heirs]
    assert all(age % 2 == 0 for age in ages if 0 < age <= 6)
    assert str(origin(first[0])).startswith("taught by")


def test_nobody_takes_over_from_before_the_new_start():
    done = played(barrier=False, turns=24)
    first = {
        member.slot: next(turn.order.turn for turn in member.history() if turn.order.why.get("event") == "restart")
        for member in done.population.members
    }
    for member in done.population.members:
        for turn in member.history():
            start = turn.order.start
            if turn.order.turn > first[member.slot] and start is not None and turn.order.why.get("event") != "return":
                assert start.turn >= first[start.member]


def test_the_best_of_all_comes_back_for_the_last_turn():
    founders = iter([1.0] * 6)

    def worse(state, hparams, steps, seed):
        born = next(founders, 0.0) if state is None else state["born"]
        return {"born": born}, {"score": born}

    done = played(worse, turns=20)
    last = [member.last.order for member in done.population.members]
    back = [order for order in last if order.why.get("event") == "return"]
    assert len(back) == 1
    assert done.population.find(back[0].start).score == 1.0
    assert max(member.latest.score for member in done.population.members) == 1.0


def test_a_run_stopped_anywhere_goes_on_the_same(tmp_path, stopped_at):
    settings = {"preset": "deceptive", "strategy": "ipbt", "population": 6, "stop": {"turns": 24}, "display": "none"}

    def journal(name):
        with contextlib.closing(Journal.read(tmp_path / name)) as opened:
            return opened.canonical()

    evolute.run(**settings, folder=tmp_path / "whole")
    assert '"event":"restart"' in journal("whole")
    for count in (60, 90, 130):
        stopped_at(count, lambda count=count: evolute.run(**settings, folder=tmp_path / f"{count}"))
        evolute.run(**settings, folder=tmp_path / f"{count}")
        assert journal(f"{count}") == journal("whole")


@pytest.mark.parametrize("settings", [{"every": 0}, {"patience": 0}, {"window": 0}])
def test_what_cannot_be_is_refused(settings):
    with pytest.raises(ValueError, match="must be 1 or more"):
        ipbt(Plan(SPACE, 4, 10, 20), **settings)
    with pytest.raises(ValueError, match="needs an end"):
        ipbt(Plan(SPACE, 4, 10, None))


def test_without_a_stop_it_is_pbt():
    plan = Plan(SPACE, 6, interval=10, turns=12)
    made = [
        rehearse(adapt(steady), make(plan), plan, lambda worker: inline(worker, None), turns=12, seed=1).population
        for make in (ipbt, pbt)
    ]
    assert [member.latest.score for member in made[0].members] == [member.latest.score for member in made[1].members]


def steady(state, hparams, steps, seed):
    total = (0.0 if state is None else state["total"]) + hparams["h"]
    return {"total": total}, {"score": total}
