"""The loop: when everybody has failed, what may change when a run continues, and orders that it refuses."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

import evolute
from evolute.config.error import ConfigError
from evolute.core.loop import hopeless
from evolute.core.order import Order, Ref, Report
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.store.journal import Journal


def grown(*slots: str, running: str = "") -> Population:
    """A population by its slots' turns: `+` went well, `x` failed; the slots named in `running` have another order."""
    population = Population.of(len(slots))
    for slot, turns in enumerate(slots):
        for turn, how in enumerate(turns):
            order = Order(slot, turn, {}, steps=10, start=Ref(slot, 0) if turn and turns[0] == "+" else None)
            report = Report(order, {"score": 0.0}, 10) if how == "+" else Report(order, error="no")
            population = population.order([order]).report([report])
    return population.order([Order(int(slot), population[int(slot)].turns, {}) for slot in running])


@pytest.mark.parametrize(
    ("population", "barrier", "expected"),
    [
        (grown("x", "x"), True, True),
        (grown("+x", "+x"), True, True),
        (grown("+x", "++"), True, False),
        (grown("+x", "+x", running="1"), True, False),
        (grown("+xx", "+x", running="0"), True, False),
        (grown("x", "x", running="0"), False, False),
        (grown("xx", "x", running="0"), False, True),
        (grown("xx", "xx", running="01"), False, True),
        (grown("x"), True, True),
        (grown("+x"), True, False),
        (grown("+xx"), True, True),
        (grown("", "x"), True, False),
    ],
)
def test_a_run_is_hopeless_when_all_have_failed_and_no_rescue_is_under_way(population, barrier, expected):
    assert hopeless(population, barrier=barrier) is expected


def test_a_rescue_that_is_under_way_is_waited_for(tmp_path):
    settings = {"durations": [1, 2], "failures": [[1, 3], [0, 4]]}
    run = evolute.run(preset="toy", engine="simulated", simulated=settings, runs=tmp_path, display="none")
    assert [member.turns for member in run.population.members] == [50, 50]


def test_without_a_last_report_a_member_runs_again():
    population = grown("++", "+x")
    before = population.without([Ref(0, 1)])
    assert before[0].running == population[0].last.order
    assert before[0].latest.ref == Ref(0, 0)
    assert before[0].steps == 10
    assert population[1].steps == 20, "a failed turn uses up what was ordered"
    with pytest.raises(ValueError, match="not the last"):
        population.without([Ref(0, 0)])


def test_members_that_cannot_succeed_end_with_their_budget_of_steps(tmp_path):
    calls = itertools.count()

    def train(state, hparams, steps, seed):
        if hparams["h"] > 0.5:
            raise ArithmeticError
        next(calls)
        return None, {"score": hparams["h"]}

    first = [{"h": 0.1}, {"h": 0.9}]
    settings = {"space": {"h": [0, 1]}, "population": 2, "init": {"hparams": first}, "strategy": "random_search"}
    run = evolute.run(train, steps=30, interval=10, runs=tmp_path, display="none", **settings)
    assert max(member.turns for member in run.population.members) <= 3


def train(state, hparams, steps, seed):
    return {"n": (0 if state is None else state["n"]) + 1}, {"score": hparams["h"]}


@pytest.mark.parametrize(
    "change",
    [
        {"space": {"h": [0.9, 1]}},
        {"space": {"g": [0, 1]}},
        {"train": {"h": 0.5}},
        {"population": 3},
        {"population": 7},
        {"strategy": "random_search"},
        {"pbt": {"quantile": 0.4}},
        {"pbt": {"quantile": 0.9}},
        {"seed": 4},
    ],
)
def test_what_members_were_trained_with_cannot_change_and_trying_leaves_the_run_as_it_was(tmp_path, change):
    settings = {"space": {"h": [0, 1]}, "population": 6, "stop": {"turns": 3}, "runs": tmp_path}
    made = evolute.run(train, display="none", **settings)
    with pytest.raises(ConfigError, match=r"cannot change|quantile"):
        evolute.resume(made.folder, learner=train, stop={"turns": 5}, display="none", **change)
    assert evolute.Run.open(made.folder).meta == made.meta
    longer = evolute.resume(made.folder, learner=train, stop={"turns": 5}, display="none")
    assert [member.turns for member in longer.population.members] == [5] * 6


def test_where_and_how_it_is_carried_out_may_change_and_is_remembered(tmp_path):
    settings = {"space": {"h": [0, 1]}, "population": 4, "stop": {"turns": 3}, "runs": tmp_path}
    made = evolute.run(train, display="none", **settings)
    changes = {"engine": "simulated", "keep": "last, every 2", "durable": 2, "mode": "async"}
    longer = evolute.resume(made.folder, learner=train, stop={"turns": 6}, display="none", **changes)
    assert longer.meta.keep.every == 2
    assert longer.meta.mode == "async"
    assert [member.turns for member in longer.population.members] == [6] * 4


@dataclass(frozen=True)
class Faulty:
    """Lets everybody continue, and in the second turn does what `fault` makes of its orders."""

    plan: Plan
    fault: Callable[[list[Order]], list[Order]]

    def init(self):
        return {}

    def step(self, state, population, ready, rng):
        latest = {slot: population[slot].latest for slot in ready}
        starts = {slot: None if turn is None else turn.ref for slot, turn in latest.items()}
        orders = [population.draft(slot, {"h": 0.5}, start=starts[slot]) for slot in ready]
        return state, self.fault(orders) if orders[0].turn else orders

    def retain(self, state, population):
        return ()


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (lambda orders: orders[1:], r"ordered members \[1\], ready were \[0, 1\]: it must give one order to each"),
        (lambda orders: [orders[0], *orders], r"ordered members \[0, 0, 1\], ready were \[0, 1\]"),
        (
            lambda orders: [replace(orders[0], hparams={"h": 1.5}), orders[1]],
            "1.5} for member 0, which is not in the space",
        ),
        (lambda orders: [replace(orders[0], hparams={}), orders[1]], "which is not in the space"),
        (lambda orders: [replace(orders[0], turn=2), orders[1]], "ordered turn 2 of member 0 out of order"),
        (lambda orders: [replace(orders[0], start=Ref(1, 0)), orders[1]], "ordered member 0 to use .*, a turn that failed"),
    ],
)
def test_orders_that_break_a_law_are_refused_before_they_are_written(tmp_path, fault, says):
    """Member 1 fails in its first turn, which no order may link to."""
    with pytest.raises(ValueError, match=says):
        evolute.run(
            train, strategy=lambda plan: Faulty(plan, fault),
            space={"h": evolute.Float(0, 1)}, population=2, stop={"turns": 3}, engine="simulated",
            simulated={"failures": [[1, 0]]}, folder=tmp_path / "run", display="none",
        )  # fmt: skip
    with contextlib.closing(Journal.read(tmp_path / "run")) as journal:
        assert {order.turn for decision in journal.decisions() for order in decision.orders} == {0}
