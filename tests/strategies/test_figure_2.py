"""The toy problem of the PBT paper's Figure 2, as its preset describes it, over 200 seeds."""

from __future__ import annotations

import numpy as np
import pytest
from in_memory import trained

from evolute.config.layers import preset
from evolute.config.resolve import resolved
from evolute.core.population import best, descent
from evolute.core.protocols import Plan
from evolute.strategies import random_search, winner_takes_all

SEEDS = 200


def plan_of(config):
    settings = config.settings
    first = tuple({name: float(value) for name, value in row.items()} for row in settings.init.hparams)
    return Plan(config.space, settings.population, settings.interval, config.stop.turns, first)


def final_scores(seeds=SEEDS, make=None, **changes):
    """The best final score of each seed."""
    config = resolved(preset("toy"))
    plan = plan_of(config)
    strategy = make(plan) if make else config.strategy.maker(plan, **{**config.strategy.settings, **changes})
    runs = (trained(config.learner.maker, strategy, plan, turns=config.stop.turns, seed=seed) for seed in range(seeds))
    return np.array([best(population).score for population, _ in runs])


def test_grid_search_ends_at_0_39():
    assert final_scores(exploit="none", explore="none") == pytest.approx(0.39, abs=1e-6)


@pytest.mark.slow(reason="a hundred seeds of one curve of the paper's figure")
def test_exploit_alone_ends_at_0_39():
    assert final_scores(explore="none") == pytest.approx(0.39, abs=1e-6)


def test_pbt_reaches_1_19_in_99_of_100_seeds():
    scores = final_scores()
    assert (scores <= 1.2).all()
    assert np.mean(scores > 1.19) >= 0.99


def test_random_search_ends_where_grid_search_does_and_winner_takes_all_where_pbt_does():
    assert final_scores(3, make=random_search) == pytest.approx(0.39, abs=1e-6)
    assert (final_scores(10, make=winner_takes_all) > 1.19).all()


def test_the_winning_line_of_pbt_has_used_both_workers_and_no_line_of_grid_search_has():
    config = resolved(preset("toy"))
    plan = plan_of(config)
    for exploit, workers in (("truncation", 2), ("none", 1)):
        strategy = config.strategy.maker(plan, **{**config.strategy.settings, "exploit": exploit})
        population, decisions = trained(config.learner.maker, strategy, plan, turns=50, seed=0)
        assert len(decisions) == 50
        assert {order.steps for orders in decisions for order in orders} == {4}
        assert len({turn.order.member for turn in descent(best(population))}) == workers
