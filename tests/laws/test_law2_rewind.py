"""Going back goes back as little as it can, whatever was durable when the run was killed."""

from __future__ import annotations

import pytest

import evolute
from evolute.core.durability import reachable
from evolute.core.order import Order, Ref, Report
from evolute.core.population import Population
from evolute.core.resume import Decision, RemakeError, rewound
from evolute.runs.result import Run


def history(rounds: int, size: int = 3) -> list[Decision]:
    """A sync run in which everybody goes on from its own state."""
    decisions = []
    for turn in range(rounds):
        orders = [Order(slot, turn, {}, start=Ref(slot, turn - 1) if turn else None) for slot in range(size)]
        decisions.append(Decision(turn, orders, [Report(order, {"score": 0.0}) for order in orders], {}))
    return decisions


def needs(decisions, population: Population) -> set[Ref]:
    return reachable(population)


def test_what_is_durable_in_part_of_a_turn_is_kept_and_the_rest_runs_again():
    durable = {Ref(0, 4), Ref(1, 4), Ref(1, 3), Ref(2, 3)}
    rewind = rewound(3, history(5), durable, needs)
    assert (rewind.decisions, rewind.void) == (5, [Ref(2, 4)])


def test_a_turn_is_forgotten_only_if_one_before_it_is_durable():
    durable = {Ref(slot, 2) for slot in range(3)}
    rewind = rewound(3, history(5), durable, needs)
    assert (rewind.decisions, sorted(rewind.void)) == (4, [Ref(slot, 3) for slot in range(3)])


def test_a_report_that_a_later_order_builds_on_is_not_void():
    decisions = history(3)
    heir = Order(1, 3, {}, start=Ref(0, 2))
    decisions.append(Decision(3, [heir], [], {}))
    durable = {Ref(slot, 1) for slot in range(3)} | {Ref(1, 2), Ref(2, 2)}
    rewind = rewound(3, decisions, durable, needs)
    assert (rewind.decisions, rewind.void) == (3, [Ref(0, 2)])


def test_with_nothing_durable_it_is_a_fresh_start():
    rewind = rewound(3, history(2), set(), needs)
    assert (rewind.decisions, sorted(rewind.void)) == (1, [Ref(0, 0), Ref(1, 0), Ref(2, 0)])


def interrupted(stopped_at, learner, tmp_path, count: int, **settings) -> dict:
    """The settings of a run that was left in the middle of things, at a write point."""
    settings = {"space": {"h": [0, 1]}, "population": 4, "stop": {"turns": 8}, "folder": tmp_path / "run", **settings}
    stopped_at(count, lambda: evolute.run(learner, display="none", **settings))
    return settings


def restless():
    luck = iter(range(10**6))

    def train(state, hparams, steps, seed):
        past = [] if state is None else state["past"]
        return {"past": [*past, next(luck)]}, {"score": hparams["h"]}

    return train


@pytest.mark.parametrize("count", range(30, 130, 7))
@pytest.mark.parametrize("durable", [1, 3])
def test_after_a_rewind_every_state_is_the_one_that_was_reported(tmp_path, stopped_at, count, durable):
    learner = restless()
    settings = interrupted(stopped_at, learner, tmp_path, count, durable=durable)
    run = evolute.run(learner, display="none", **settings)
    assert [member.turns for member in run.population.members] == [8, 8, 8, 8]
    for slot in range(4):
        assert len(run.member(slot).state["past"]) == 8


def test_a_learner_that_fails_while_turns_are_made_again_changes_nothing(tmp_path, stopped_at):
    broken = False

    def train(state, hparams, steps, seed):
        if broken:
            raise NameError("a bug made in the meantime")
        return {"turn": 0 if state is None else state["turn"] + 1}, {"score": hparams["h"]}

    settings = interrupted(stopped_at, train, tmp_path, 90, durable=3)
    before = Run.open(tmp_path / "run")
    broken = True
    with pytest.raises(RemakeError, match=r"(?s)nothing was changed.*a bug made in the meantime.*evolute resume"):
        evolute.run(train, edited=True, display="none", **settings)
    after = Run.open(tmp_path / "run")
    assert [m.turns for m in after.population.members] == [m.turns for m in before.population.members]
    assert not after.meta.unrepeatable
    broken = False
    assert evolute.run(train, edited=True, display="none", **settings).status == "finished"


def test_a_turn_that_fails_by_chance_while_it_is_made_again_is_tried_again(tmp_path, stopped_at):
    calls = 0

    def train(state, hparams, steps, seed):
        nonlocal calls
        calls += 1
        if calls in (1, 3) and remaking:
            raise ConnectionError("now and then")
        return {"turn": 0 if state is None else state["turn"] + 1}, {"score": hparams["h"]}

    remaking = False
    settings = interrupted(stopped_at, train, tmp_path, 90, durable=3)
    remaking, calls = True, 0
    run = evolute.run(train, edited=True, display="none", **settings)
    assert run.status == "finished"
    assert not run.meta.unrepeatable
    assert not any(turn.failed for member in run.population.members for turn in member.history())


def test_running_orders_go_on_in_the_order_in_which_they_were_decided(tmp_path, stopped_at, monkeypatch):
    trained = []

    def train(state, hparams, steps, seed):
        trained.append(seed)
        return None, {"score": hparams["h"]}

    monkeypatch.setattr("evolute.engines.inline.MOMENT", 0.0)
    settings = interrupted(stopped_at, train, tmp_path, 80, mode="async")
    before = Run.open(tmp_path / "run").population
    trained.clear()
    evolute.run(train, display="none", **settings)
    running = {order.seed: member.turns for member in before.members for order in [member.running] if order}
    resumed = [seed for seed in trained if seed in running][: len(running)]
    assert [running[seed] for seed in resumed] == sorted(running.values()), "those who have waited longest come first"
