"""The laws that a learner must keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from evolute.core.order import Hparams, Order, Ref, Report
from evolute.core.protocols import Learner
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.testing.memory import MemoryStates


def check_learner(learner: Learner[Any], hparams: Sequence[Hparams], *, steps: int) -> None:
    """Train one member for each of `hparams` for two turns, alone and together, in memory and through bytes."""
    first = [Order(member, 0, values, steps=steps, seed=100 + member) for member, values in enumerate(hparams)]
    second = [replace(order, turn=1, start=Ref(order.member, 0), seed=order.seed + 50) for order in first]
    heirs = [replace(order, member=order.member + len(first), start=Ref(0, 0)) for order in second]

    together = Worker(learner, MemoryStates())
    reports = [*_train(together, first), *_train(together, second), *_train(together, heirs)]
    for report in reports:
        assert not report.failed, f"the turn of {report.order.ref} failed:\n{report.error}"
    marks = {report.order.ref: report.digest for report in reports}
    for order in first:
        assert digest(together.dump(order.ref)) == marks[order.ref], "training changed the state that it started from"

    alone = Worker(learner, MemoryStates())
    _check_same(marks, [alone.train([order])[0] for order in (*first, *second, *heirs)], "alone")

    through_bytes = Worker(learner, MemoryStates())
    _train(through_bytes, first)
    through_bytes.save([order.ref for order in first])
    through_bytes.keep(set())
    _check_same(marks, [*_train(through_bytes, second), *_train(through_bytes, heirs)], "from its checkpoint")


def _train(worker: Worker, orders: Sequence[Order]) -> list[Report]:
    return [report for group in worker.groups(orders) for report in worker.train(group)]


def _check_same(marks: dict[Ref, str | None], reports: Sequence[Report], how: str) -> None:
    for report in reports:
        assert report.digest == marks[report.order.ref], (
            f"{report.order.ref} came out different when it was trained {how}: {report.error or 'another state'}"
        )
