"""What a decision makes of requests: pins, clones, values, bounds, and the sentences for what cannot be granted."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from evolute.core.durability import Keeper
from evolute.core.loop import Loop, Position, Setup
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.population import Population
from evolute.core.protocols import Plan
from evolute.core.request import Answer, RefusedError, Request
from evolute.core.solo import adapt
from evolute.core.space import Space
from evolute.core.steering import Steering, rebound, widest
from evolute.core.stop import Stop
from evolute.core.worker import Worker
from evolute.engines.inline import inline
from evolute.strategies import bg_pbt, pb2_mix, pbt, random_search
from evolute.testing.memory import MemoryJournal, MemoryStates

SPACE = Space({"lr": Float(1e-5, 1e-2, log=True), "n": Int(1, 9), "act": Choice("a", "b")})
PLAN = Plan(SPACE, 4, interval=10, turns=50)


def noisy(state, hparams, steps, seed):
    """Scores at random, so that everybody is replaced again and again."""
    return {"n": 0 if state is None else state["n"] + 1}, {"score": float(np.random.default_rng(seed).random())}


class Script:
    """Requests that become known at the decision of a given number."""

    def __init__(self, requests):
        self.left = {f"{number:03d}": request for number, request in enumerate(requests)}
        self.looks = -1

    def waiting(self):
        self.looks += 1
        return [(name, body) for name, (decision, body) in sorted(self.left.items()) if decision <= self.looks]

    def remove(self, names):
        for name in names:
            self.left.pop(name, None)


def steered(requests, *, make=lambda plan: pbt(plan, quantile=0.5), plan=PLAN, turns=12, learner=noisy, seed=0, barrier=True):
    journal, states = MemoryJournal(), MemoryStates()
    engine = inline(Worker(adapt(learner), states), None)
    setup = Setup(plan, make(plan), Stop(turns=turns), seed=seed, barrier=barrier, make=make)
    position = Position(Population.of(plan.size), setup.strategy.init())
    loop = Loop(setup, position, engine, journal, Keeper(engine, journal, states), requests=Script(requests))
    loop.run()
    return loop, journal


def answers(journal):
    return [tuple(json.loads(line)[1:]) for line in journal.lines if line.startswith('["request"')]


def orders_of(journal, slot):
    return [order for decision in journal.decisions for order in decision if order.member == slot]


def test_a_pinned_member_keeps_its_line_for_fifty_turns_and_still_gives_it_to_others():
    loop, journal = steered([(1, {"kind": "pin", "member": 2})], turns=50)
    assert answers(journal) == [({"kind": "pin", "member": 2}, None)]
    first, *line = orders_of(journal, 2)
    assert first.start is None
    assert {(order.start, order.why["event"]) for order in line} == {((2, order.turn - 1), "pinned") for order in line}
    assert all(order.hparams == first.hparams for order in line)
    others = [order.start.member for slot in (0, 1, 3) for order in orders_of(journal, slot)[1:]]
    assert 2 in others
    assert loop.position.steering.pinned == {2}


def test_without_its_pin_it_is_replaced_again():
    _, journal = steered([(1, {"kind": "pin", "member": 2}), (6, {"kind": "unpin", "member": 2})], turns=30)
    line = orders_of(journal, 2)
    assert {order.start.member for order in line[1:6]} == {2}
    assert {order.start.member for order in line[6:]} > {2}


def test_a_member_that_fails_twice_is_let_go():
    def failing(state, hparams, steps, seed):
        if state is not None and state["n"] >= 2 and hparams["n"] == 9:
            raise ArithmeticError("scripted")
        return noisy(state, hparams, steps, seed)

    plan = replace(PLAN, first=({"n": 1}, {"n": 1}, {"n": 9}, {"n": 1}))
    loop, journal = steered([(1, {"kind": "pin", "member": 2})], plan=plan, learner=failing, turns=8)
    assert [order.start for order in orders_of(journal, 2)[3:5]] == [(2, 2), (2, 2)]
    assert orders_of(journal, 2)[5].why["event"] == "rescue"
    assert ({"kind": "unpin", "member": 2}, None) in answers(journal)
    assert not loop.position.steering.pinned


def test_a_clone_takes_state_and_values_and_a_value_can_be_set_on_top():
    requests = [
        (3, {"kind": "clone", "member": 1, "donor": 2}),
        (3, {"kind": "set", "member": 1, "hparams": {"n": 7}}),
        (5, {"kind": "set", "member": 3, "hparams": {"lr": 1e-3, "act": "b"}}),
    ]
    _, journal = steered(requests, make=random_search)
    cloned, set_alone = orders_of(journal, 1)[3], orders_of(journal, 3)[5]
    donor = orders_of(journal, 2)[2]
    assert cloned.start == donor.ref
    assert cloned.hparams == {**donor.hparams, "n": 7}
    assert cloned.why == {"event": "clone", "set": ["n"]}
    assert set_alone.start == (3, 4)
    assert (set_alone.hparams["lr"], set_alone.hparams["act"]) == (1e-3, "b")
    assert orders_of(journal, 3)[6].hparams == set_alone.hparams


@pytest.mark.parametrize("make", [pbt, pb2_mix, bg_pbt, random_search])
@pytest.mark.parametrize("barrier", [True, False])
def test_no_order_leaves_new_bounds(make, barrier):
    low, high = {"kind": "log", "low": 1e-4, "high": 3e-4}, {"kind": "int", "low": 8, "high": 30}
    act = {"kind": "choice", "values": ["c", "b", "a"]}
    requests = [(4, {"kind": "bounds", "bounds": {"lr": low, "n": high, "act": act}})]
    loop, journal = steered(requests, make=make, turns=12, barrier=barrier)
    assert answers(journal)[0][1] is None
    new = loop.setup.plan.space
    assert new["act"].values == ("a", "b", "c")
    taken = next(number for number, line in enumerate(journal.lines) if line.startswith('["request"'))
    later = [json.loads(line) for line in journal.lines[taken:] if line.startswith('["order"')]
    assert len(later) >= 4 * 6
    assert all(new.contains(order[3]["hparams"]) for order in later)
    assert any("n" in order[3].get("why", {}).get("clipped", ()) for order in later)


def test_a_grown_list_is_used_and_old_rows_are_left_out():
    requests = [(4, {"kind": "bounds", "bounds": {"act": {"kind": "choice", "values": ["a", "b", "c"]}}})]
    _, journal = steered(requests, make=lambda plan: pb2_mix(plan, quantile=0.5), turns=30)
    assert {order.hparams["act"] for slot in range(4) for order in orders_of(journal, slot)[5:]} == {"a", "b", "c"}


def test_without_requests_nothing_changes():
    _, plain = steered([])
    _, refused = steered([(2, {"kind": "unpin", "member": 0})])
    assert [line for line in refused.lines if not line.startswith('["request"')] == plain.lines


BOUND = replace(PLAN, architecture=frozenset({"n"}))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"kind": "pin", "member": 9}, "there is no member 9: the run has members 0 to 3"),
        ({"kind": "unpin", "member": 0}, "member 0 is not pinned"),
        ({"kind": "clone", "member": 1, "donor": 1}, "member 1 cannot be cloned into itself"),
        ({"kind": "set", "member": 1, "hparams": {"lr": 1.0}}, "lr=1.0 is not in log[1e-05, 0.01]"),
        ({"kind": "set", "member": 1, "hparams": {"lr": "fast"}}, "lr=fast is not in log[1e-05, 0.01]"),
        ({"kind": "set", "member": 1, "hparams": {"x": 1.0}}, "x is not evolved here: lr, n, act are"),
        ({"kind": "set", "member": 1, "hparams": {"n": 2}}, "n is bound to the weights, and cannot change while they train"),
        ({"kind": "set", "member": 1}, "no value was given to set"),
        ({"kind": "bounds"}, "no bounds were given"),
        (
            {"kind": "bounds", "bounds": {"lr": {"kind": "float", "low": 0.1, "high": 0.2}}},
            "lr is log[1e-05, 0.01], and only its bounds can change, not its kind",
        ),
        ({"kind": "drop", "member": 1}, "this is not a request: `evolute steer` writes them"),
        ({"kind": "pin"}, "this is not a request: `evolute steer` writes them"),
        (None, "this is not a request: `evolute steer` writes them"),
        ([1], "this is not a request: `evolute steer` writes them"),
    ],
)
def test_what_cannot_be_granted_is_refused_in_a_sentence_and_the_run_goes_on(body, sentence):
    loop, journal = steered([(2, body)], plan=BOUND, turns=4)
    assert answers(journal) == [(body, sentence)]
    assert all(member.turns == 4 for member in loop.population.members)


def test_a_plan_that_the_learner_cannot_train_by_is_refused():
    def make(plan):
        if plan.space["n"].high > 20:
            raise ValueError("n=30 is too many")
        return pbt(plan)

    body = {"kind": "bounds", "bounds": {"n": {"kind": "int", "low": 1, "high": 30}}}
    loop, journal = steered([(2, body)], make=make, turns=4)
    assert answers(journal) == [(body, "n=30 is too many")]
    assert loop.setup.plan.space == SPACE


def test_a_longer_list_keeps_its_values_and_their_order():
    before = Ordinal(8, 16)
    assert rebound("w", before, Ordinal(4, 8, 16, 32)).values == (4, 8, 16, 32)
    with pytest.raises(RefusedError, match="a list can only grow"):
        rebound("w", before, Ordinal(8, 32))
    with pytest.raises(RefusedError, match="must keep the order"):
        rebound("w", before, Ordinal(16, 8, 4))
    assert rebound("x", Float(0, 1, start=(0.2, 0.9)), Float(0, 0.5)) == Float(0, 0.5, start=(0.2, 0.5))


def test_the_widest_ranges_hold_every_value_there_ever_was():
    answered = [
        Answer(1, "a", Request("bounds", bounds={"n": Int(3, 20)}).to_json()),
        Answer(2, "b", Request("bounds", bounds={"n": Int(4, 5)}).to_json()),
        Answer(3, "c", Request("bounds", bounds={"lr": Float(1e-9, 1, log=True)}).to_json(), "refused"),
    ]
    assert widest(SPACE, answered) == {"n": Int(1, 20)}
    assert Steering.of(answered).space(SPACE)["n"] == Int(4, 5)
