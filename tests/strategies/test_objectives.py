"""Strategies with several objectives: the laws, and that comparing by fronts dominates more than comparing by the sum."""

from __future__ import annotations

import contextlib
from functools import partial

import numpy as np
import pytest
from benchmarks.objectives import dominated
from tests.strategies.in_memory import trained

import evolute
from evolute import strategies
from evolute.config.error import ConfigError
from evolute.core.order import CONTROL_AHEAD
from evolute.core.param import Float
from evolute.core.population import front
from evolute.core.protocols import Plan
from evolute.core.space import Space
from evolute.engines.simulated import simulated
from evolute.store.journal import Journal
from evolute.strategies.bayes.weighed import rescored
from evolute.strategies.controlled import Controlled
from evolute.strategies.ipbt import ipbt
from evolute.testing import check_strategy

NUMBERS = Space({"lr": Float(1e-5, 1e-1, log=True), "mix": Float(0.0, 1.0)})


@pytest.mark.parametrize("name", ["pbt", "winner_takes_all", "pb2", "pb2_mix", "bg_pbt", "ga", "nsga2"])
def test_strategies_keep_the_laws_with_several_objectives(name):
    check_strategy(getattr(strategies, name), lambda worker: simulated(worker, None), NUMBERS, sizes=(1, 4), objectives=True)


def test_groups_and_restarts_keep_the_laws_with_several_objectives():
    check_strategy(strategies.mf_pbt, lambda worker: simulated(worker, None), sizes=(8,), objectives=True)
    check_strategy(partial(ipbt, patience=1), lambda worker: simulated(worker, None), sizes=(4,), turns=20, objectives=True)


@pytest.mark.parametrize("seed", range(3))
def test_comparing_by_fronts_dominates_more_than_comparing_by_the_sum(seed):
    assert dominated("pbt", seed) > dominated("pbt on the sum", seed)


def two_groups(ahead):
    """A learner whose evolving members are worse than those of the control group, in both objectives or in one."""

    def train(state, hparams, steps, seed):
        good = 1.0 if hparams["x"] > 0.5 else 0.0
        return state, {"a": good, "b": good if ahead else 1 - good}

    return train


@pytest.mark.parametrize("ahead", [True, False])
def test_the_control_group_is_ahead_if_it_has_the_front_to_itself(ahead):
    space = Space({"x": Float(0.0, 1.0)})
    first = tuple({"x": 0.9 if slot >= 4 else 0.1 + slot / 100} for slot in range(6))
    plan = Plan(space, 6, 1, 20, first, objectives=("a", "b"))
    inner = strategies.pbt(Plan(space, 4, 1, 20, first[:4], objectives=("a", "b")), explore="none")
    _, decisions = trained(two_groups(ahead), Controlled(plan, inner, 2), plan, turns=14, seed=0)
    told = [order.why[CONTROL_AHEAD] for orders in decisions for order in orders if CONTROL_AHEAD in order.why]
    assert told == ([[5, None, None]] if ahead else [])


def test_the_model_of_pb2_sees_weighted_sums_of_all_turns():
    plan = Plan(Space({"w": Float(0.0, 1.0), "s": Float(0.0, 1.0)}), 4, 1, 8, objectives=("a", "b"))
    from evolute.learners.tradeoff import tradeoff

    population, _ = trained(tradeoff, strategies.pbt(plan), plan, turns=8, seed=0)
    weights = np.array([0.25, 2.0])
    changed = rescored(population, weights)
    for before, after in zip(population.members, changed.members, strict=True):
        for old, new in zip(before.history(), after.history(), strict=True):
            assert new.score == pytest.approx(0.25 * old.objectives[0] + 2 * old.objectives[1])
            assert (new.parent is None) == (old.parent is None)
            assert new.parent is None or new.parent.score == pytest.approx(weights @ old.parent.objectives)
        assert after.latest is after.last


def canonical(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


@pytest.mark.parametrize(("mode", "engine"), [("sync", "inline"), ("async", "simulated")])
def test_a_run_with_objectives_goes_on_after_a_stop_as_if_nothing_had_happened(tmp_path, stopped_at, mode, engine):
    def train(name):
        settings = {"preset": "tradeoff", "population": 5, "stop": {"turns": 5}, "seed": 3, "mode": mode, "engine": engine}
        return evolute.run(**settings, folder=tmp_path / name, display="none")

    run = train("whole")
    assert [agent.turn.ref for agent in run.front] == [turn.ref for turn in front(run.population)]
    assert run.best.turn in [agent.turn for agent in run.front]
    stopped_at(9, lambda: train("stopped"))
    train("stopped")
    assert canonical(tmp_path / "stopped") == canonical(tmp_path / "whole")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"score": "a"}, "take the place of score=a"),
        ({"stop": {"score": 1.0}}, "no one score to stop at"),
        ({"pbt": {"exploit": "welch"}}, "welch tests the means of one score"),
        ({"pbt": {"exploit": "significant"}}, "significant tests the means of one score"),
        ({"objectives": ["a"]}, "one objective: give two or more"),
    ],
)
def test_what_does_not_go_with_objectives_is_refused(tmp_path, given, said):
    with pytest.raises(ConfigError, match=said):
        evolute.run(**{"preset": "tradeoff", "folder": tmp_path / "run", "display": "none", **given})
