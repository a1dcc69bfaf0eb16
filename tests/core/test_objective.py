"""What members are compared by: metrics, sums of them, and several objectives."""

from __future__ import annotations

import pytest

from evolute.core.objective import Term, parse_objectives, terms
from evolute.core.order import Order
from evolute.core.solo import adapt
from evolute.core.worker import Worker
from evolute.testing.memory import MemoryStates


def reported(goal, **metrics):
    """The report of a turn with these metrics."""
    worker = Worker(adapt(lambda state, hparams, steps, seed: (0, metrics)), MemoryStates(), score=goal)
    return worker.train([Order(0, 0, {}, steps=1, seed=1)])[0]


def test_a_text_adds_up_metrics_with_their_signs():
    assert terms("return+-cost") == [Term("return", 1.0), Term("cost", -1.0)]
    assert terms("0.025*return + -2*cost+ .5 * x") == [Term("return", 0.025), Term("cost", -2.0), Term("x", 0.5)]
    assert terms("1e-2*return") == [Term("return", 0.01)]
    assert terms("- loss") == [Term("loss", -1.0)]
    assert terms("eval-return") == [Term("eval-return", 1.0)]


@pytest.mark.parametrize("text", ["", "-", "a+", "+a", "2*", "-  "])
def test_a_metric_needs_a_name(text):
    with pytest.raises(ValueError, match="should add up metrics by their names"):
        terms(text)


def test_objectives_are_several_and_different():
    assert parse_objectives("[a, b+c, -d]") == ["a", "b+c", "-d"] == parse_objectives(["a", " b+c", "-d"])
    with pytest.raises(ValueError, match="one objective: give two or more, or score=a"):
        parse_objectives(["a"])
    with pytest.raises(ValueError, match="each objective once"):
        parse_objectives(["a", "a"])


def test_a_report_has_each_objective_and_their_sum_as_its_score():
    report = reported(("score", "b+c", "-d"), score=1.0, b=2.0, c=3.0, d=10.0)
    assert report.objectives == (1.0, 5.0, -10.0)
    assert report.metrics["score"] == -4.0


def test_the_score_may_be_a_sum_and_then_there_are_no_objectives():
    report = reported("return+-cost", **{"return": 5.0, "cost": 2.0})
    assert report.metrics["score"] == 3.0
    assert report.objectives == ()


def test_where_an_objective_is_not_known_yet_there_is_no_score():
    report = reported(("a", "b"), a=1.0, b=None)
    assert not report.failed
    assert report.objectives == ()
    assert report.metrics["score"] is None


def test_an_objective_that_is_missing_or_not_finite_fails_the_turn():
    assert "have no 'b', which is what members are compared by" in reported(("a", "b"), a=1.0).reason
    assert reported(("a", "b"), a=1.0, b=float("nan")).reason.endswith("b, by which members are compared, is nan")
    assert reported("-loss", loss=float("inf")).reason.endswith("the score is inf")
