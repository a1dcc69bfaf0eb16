"""The project's own plug-ins pass the checks that it ships, and the checks notice what they are for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from evolute import strategies
from evolute.core.names import resolve
from evolute.core.order import Ref
from evolute.core.param import Float
from evolute.core.solo import Solo, adapt
from evolute.core.space import Space
from evolute.engines.inline import inline
from evolute.engines.processes import processes
from evolute.engines.simulated import simulated
from evolute.strategies.controlled import Controlled, evolving_plan
from evolute.strategies.random_search import RandomSearch
from evolute.testing import check_engine, check_learner, check_strategy
from evolute.testing.strategy import SPACE

ENGINES = {
    "inline": lambda worker: inline(worker, None),
    "inline with a limit": lambda worker: inline(worker, 30.0),
    "two processes": lambda worker: processes(worker, None, workers=2),
    "two processes with a limit": lambda worker: processes(worker, 30.0, workers=2),
    "simulated": lambda worker: simulated(worker, None, durations=[1, 2, 3]),
    "simulated, two workers": lambda worker: simulated(worker, None, durations=[1, 2, 3], workers=2),
}
STRATEGIES = {
    "pbt": strategies.pbt,
    "pbt, tournament": partial(strategies.pbt, exploit="tournament"),
    "pbt, welch": partial(strategies.pbt, exploit="welch"),
    "pbt, resample": partial(strategies.pbt, explore="resample"),
    "pbt, pairwise": partial(strategies.pbt, explore="pairwise"),
    "pbt, every third turn": partial(strategies.pbt, every=3),
    "pbt marl": strategies.pbt_marl,
    "pbt marl, at once": partial(strategies.pbt_marl, burn_in=0, wait=0, confidence=0.9, mutate=1.0),
    "winner takes all": strategies.winner_takes_all,
    "random search": strategies.random_search,
    "pb2 rand": strategies.pb2_rand,
    "pb2 mult": strategies.pb2_mult,
    "pb2 mix": strategies.pb2_mix,
    "bg pbt": strategies.bg_pbt,
    "ga": strategies.ga,
    "ga with a large archive": partial(strategies.ga, archive=20),
    "map elites": partial(strategies.map_elites, cells={"cost": (-2.0, 2.0, 4)}),
}
LEARNERS = {
    "toy": {"h0": 0.5, "h1": 0.2},
    "deceptive": {"h": 0.9},
    "triangle": {"h": 0.01},
    "drift": {"x0": 0.3, "x1": 0.6, "problem": 1},
    "tradeoff": {"w": 0.3, "s": 0.4},
    "drift_mixed": {"x0": 0.3, "x1": 0.6, "c": 2, "problem": 1},
    "ceilings": {"h": 0.4, "width": 64, "depth": 2, "activation": "relu", "norm": "none", "problem": 1},
}


@pytest.mark.parametrize("name", ENGINES)
def test_engines_keep_their_laws(name):
    check_engine(ENGINES[name])


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_keep_their_laws(name):
    check_strategy(STRATEGIES[name], ENGINES["simulated"])


def test_groups_of_several_frequencies_keep_the_laws_of_strategies():
    check_strategy(strategies.mf_pbt, ENGINES["simulated"], sizes=(8, 13))


def test_a_control_group_keeps_the_laws_of_strategies():
    check_strategy(lambda plan: Controlled(plan, strategies.pbt(evolving_plan(plan, 2)), 2), ENGINES["simulated"], sizes=(4, 8))


def test_generations_keep_the_laws_of_strategies():
    make = partial(strategies.bg_pbt, generations=1, patience=1, taught=3, backtrack=True)
    check_strategy(make, ENGINES["simulated"], turns=17, architecture=("width", "act"))


@pytest.mark.slow(reason="two generations, longer rungs, with and without a teacher, a model and backtracking")
@pytest.mark.parametrize("settings", [{}, {"backtrack": True}, {"teacher": False, "architectures_by": "random"}])
def test_two_generations_keep_the_laws_of_strategies(settings):
    make = partial(strategies.bg_pbt, generations=2, patience=2, taught=4, **settings)
    check_strategy(make, ENGINES["simulated"], turns=30, architecture=("width", "act"))


def test_pb2_keeps_its_laws_where_there_are_no_categories():
    space = Space({name: param for name, param in SPACE.items() if name != "act"})
    check_strategy(strategies.pb2, ENGINES["simulated"], space)


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_keep_their_laws(name):
    learner = adapt(resolve("learners", name))
    check_learner(learner, [LEARNERS[name]] * 3, steps=4)


def test_a_learner_with_randomness_of_its_own_is_noticed():
    rng = np.random.default_rng(0)

    def restless(state, hparams, steps, seed):
        return {"draw": rng.random()}, {"score": 0.0}

    with pytest.raises(AssertionError, match="different"):
        check_learner(adapt(restless), [{}, {}], steps=1)


def test_a_learner_that_changes_its_start_state_is_noticed():
    def greedy(state, hparams, steps, seed):
        state = state or {"sum": np.zeros(1)}
        state["sum"] += 1
        return state, {"score": 0.0}

    shared = Solo(greedy, thaw=lambda tree: tree, freeze=lambda state: state)
    with pytest.raises(AssertionError, match=r"changed the state|different"):
        check_learner(shared, [{}, {}], steps=1)


def test_a_strategy_that_leaves_the_space_is_refused():
    @dataclass(frozen=True)
    class Stray(RandomSearch):
        def step(self, state, population, ready, rng):
            state, orders = super().step(state, population, ready, rng)
            return state, [replace(order, hparams={"x": 7.0}) for order in orders]

    with pytest.raises(ValueError, match="not in the space"):
        check_strategy(Stray, ENGINES["inline"], Space({"x": Float(0.0, 1.0)}))


def test_a_strategy_that_changes_an_architecture_with_trained_weights_is_noticed():
    @dataclass(frozen=True)
    class Reshaping(RandomSearch):
        def step(self, state, population, ready, rng):
            state, orders = super().step(state, population, ready, rng)
            return state, [replace(order, hparams={**order.hparams, "width": 8 + 8 * (order.turn % 2)}) for order in orders]

    with pytest.raises(AssertionError, match="continues weights with another width"):
        check_strategy(Reshaping, ENGINES["simulated"], architecture=("width",))


def test_a_strategy_with_randomness_of_its_own_is_noticed():
    rng = np.random.default_rng(0)

    @dataclass(frozen=True)
    class Restless(RandomSearch):
        def step(self, state, population, ready, _):
            return super().step(state, population, ready, rng)

    with pytest.raises(AssertionError, match="not pure"):
        check_strategy(Restless, ENGINES["inline"])


def breaking(change):
    """Random search, with the orders of members whose turn failed changed: to another order, or to none."""

    @dataclass(frozen=True)
    class Breaking(RandomSearch):
        def step(self, state, population, ready, rng):
            state, orders = super().step(state, population, ready, rng)
            changed = [change(population, order) if population[order.member].failed else order for order in orders]
            return state, [order for order in changed if order is not None]

    return Breaking


def from_the_failed_turn(population, order):
    return replace(order, start=population[order.member].last.ref)


def from_an_older_state(population, order):
    older = population[order.member].latest.before
    return order if older is None or older.failed else replace(order, start=older.ref)


def from_another_failed_member(population, order):
    others = [m for m in population.members if m.failed and m.latest is not None and m.slot != order.member]
    return replace(order, start=others[0].latest.ref) if others else order


def from_a_healthy_member(population, order):
    others = [m for m in population.members if not m.failed and m.latest is not None]
    return replace(order, start=others[0].latest.ref) if others else order


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda population, order: None, "got no order"),
        (from_the_failed_turn, "continues from a turn that failed"),
        (from_an_older_state, "continues from a state that is gone"),
        (from_another_failed_member, "which failed too"),
    ],
)
def test_a_strategy_that_does_not_rescue_failed_members_is_noticed(change, message):
    with pytest.raises(AssertionError, match=message):
        check_strategy(breaking(change), ENGINES["simulated"])


@pytest.mark.parametrize("change", [from_a_healthy_member, lambda population, order: replace(order, start=None)])
def test_failed_members_may_go_on_from_a_healthy_member_or_from_fresh_weights(change):
    check_strategy(breaking(change), ENGINES["simulated"])


def test_failed_members_may_go_on_from_a_state_that_the_strategy_retains():
    @dataclass(frozen=True)
    class Retaining(breaking(lambda population, order: replace(order, start=Ref(order.member, 0)))):
        def retain(self, state, population):
            return [Ref(member.slot, 0) for member in population.members if member.latest is not None]

    check_strategy(Retaining, ENGINES["simulated"])
