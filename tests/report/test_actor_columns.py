"""The table of a run that trains says how sampling goes, with actors or where nobody waits for anybody."""

from __future__ import annotations

from pathlib import Path

from evolute.config.layers import override, preset, stack
from evolute.config.resolve import resolved
from evolute.core.order import Order, Report
from evolute.core.population import Population
from evolute.report.watched import Watched


def table(*metrics, **timing):
    """The columns of a run whose members have reported these metrics, and this timing."""
    orders = [Order(member, 0, {"h0": 1.0, "h1": 1.0}) for member in range(len(metrics))]
    reports = [
        Report(order, {"score": 1.0, **told}, steps=1, timing=timing) for order, told in zip(orders, metrics, strict=True)
    ]
    population = Population.of(len(metrics)).order(orders).report(reports)
    watched = Watched(Path("runs/toy-1"), resolved(stack([preset("toy"), override("population=2")])), population)
    return {column.name: list(column.texts) for column in watched.columns(population.members)}


def test_samples_queue_lag_and_restarts_are_shown():
    free = {"samples_per_second": 5721.4, "queue": 16.2, "lag": 0.94, "lag_max": 2.0}
    found = table({**free, "restarts": 1.0}, free)
    assert found["samples/s"] == ["5,721", "5,721"]
    assert found["queue"] == ["16", "16"]
    assert found["lag"] == ["0.9", "0.9"]
    assert found["restarts"] == ["1", ""]


def test_samples_and_restarts_of_actors_are_shown_at_any_pace():
    found = table({}, {}, samples_per_second=812.0, restarts=2.0)
    assert found["samples/s"] == ["812", "812"]
    assert found["restarts"] == ["2", "2"]
    assert "lag" not in found


def test_metrics_of_the_same_names_that_tell_something_else_are_not():
    assert not {"queue", "lag", "restarts"} & table({"lag": "much"}, {"queue": 3}).keys()
