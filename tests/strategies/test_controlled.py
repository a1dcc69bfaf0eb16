"""A control group inside a run, and the warning when it is ahead."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
import pytest
from populations import evolved, hparams_of, plan, reports_of

import evolute
from evolute.config.error import ConfigError
from evolute.core.order import CONTROL_AHEAD
from evolute.core.population import Population
from evolute.report.data.hints import hints
from evolute.runs.turns import TurnTable
from evolute.store.journal import Journal
from evolute.strategies import pbt
from evolute.strategies.controlled import Controlled, evolving_plan


def made(size=6, control=2):
    return Controlled(plan(size), pbt(evolving_plan(plan(size), control), quantile=0.5), control)


def test_the_last_members_are_left_alone_and_nobody_takes_over_from_them():
    population = evolved([1.0, 2.0, 3.0, 4.0, 100.0, 0.0])
    _, orders = made().step(made().init(), population, range(6), np.random.default_rng(0))
    starts = {order.member: order.start.member for order in orders}
    assert starts[4] == 4
    assert starts[5] == 5
    assert orders[5].hparams == hparams_of(5)
    assert {starts[0], starts[1]} <= {2, 3}


def told_after(rounds, turns):
    """The decisions, by number, whose orders tell that the control group is ahead, in a run of so many turns."""
    strategy = replace(made(), plan=replace(plan(6), turns=turns))
    population, state, told = Population.of(6), made().init(), []
    for number, scores in enumerate([None, *rounds]):
        if scores is not None:
            population = population.report(reports_of(population, scores))
        state, orders = strategy.step(state, population, range(6), np.random.default_rng(number))
        told += [number for order in orders if CONTROL_AHEAD in order.why]
    return told


def test_it_is_told_once_when_the_control_group_has_led_for_five_turns_after_the_first_quarter():
    ahead, behind = [1.0, 1.0, 1.0, 2.0, 3.0, 0.0], [1.0, 1.0, 1.0, 4.0, 3.0, 0.0]
    assert told_after([ahead] * 12, 12) == [8]
    assert told_after([ahead] * 20, None) == [15]
    assert told_after([ahead] * 7 + [behind] + [ahead] * 4, 12) == []
    assert told_after([behind] * 12, 12) == []
    assert told_after([[1.0] * 6] * 12, 12) == []


def test_a_run_says_that_tuning_does_not_help_and_resumes_the_same(tmp_path, stopped_at):
    settings = {"preset": "deceptive", "population": 12, "control": 3, "stop": {"turns": 40}, "seed": 1, "display": "none"}

    def journal(name):
        with contextlib.closing(Journal.read(tmp_path / name)) as opened:
            return opened.canonical()

    evolute.run(**settings, folder=tmp_path / "whole")
    assert journal("whole").count(CONTROL_AHEAD) == 1
    assert "tuning is not helping" in " ".join(hints(TurnTable.read(tmp_path / "whole")))
    stopped_at(200, lambda: evolute.run(**settings, folder=tmp_path / "stopped"))
    evolute.run(**settings, folder=tmp_path / "stopped")
    assert journal("stopped") == journal("whole")


def test_too_large_a_control_group_and_one_of_random_search_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="at least 2 must be left"):
        evolute.run(preset="toy", population=4, control=3, folder=tmp_path / "a", display="none")
    with pytest.raises(ConfigError, match="needs no control group"):
        evolute.run(preset="toy", population=4, control=1, strategy="random_search", folder=tmp_path / "b", display="none")
