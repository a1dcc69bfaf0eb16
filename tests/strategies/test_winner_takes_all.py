from __future__ import annotations

import pytest
from populations import FAILED, evolved, hparams_of, plan, step

from evolute.core.order import Ref
from evolute.strategies import winner_takes_all


@pytest.mark.parametrize(
    ("scores", "winner"),
    [([1.0, 4.0, 2.0, 3.0], 1), ([4.0, 3.0, 1.0, 3.0], 0), ([FAILED, 1.0, None, 0.5], 1), ([FAILED, None, -5.0, FAILED], 2)],
)
def test_all_but_the_best_take_over_the_best_and_explore_from_there(scores, winner):
    population = evolved([-9.0] * 4, scores)
    orders = step(winner_takes_all(plan(4)), population)
    assert {order.start for order in orders.values()} == {Ref(winner, 1)}
    assert orders[winner].hparams == hparams_of(winner)
    lines = {tuple(order.hparams.values()) for order in orders.values()}
    assert len(lines) == 4


def test_values_move_by_the_factors_and_are_resampled_only_if_asked():
    population = evolved([1.0, 2.0], hparams=lambda slot: {"lr": 3e-4, "entropy": 0.05})
    ratios = {round(step(winner_takes_all(plan(2)), population, seed)[0].hparams["lr"] / 3e-4, 6) for seed in range(100)}
    assert ratios == {0.8, 1.2}
    drawn = {step(winner_takes_all(plan(2), resample=1.0), population, seed)[0].hparams["lr"] for seed in range(100)}
    assert len(drawn) == 100
    tripled = step(winner_takes_all(plan(2), factors=(3.0,)), population)[0].hparams["lr"]
    assert tripled == pytest.approx(9e-4)
