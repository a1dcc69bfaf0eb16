"""The laws that an engine must keep."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evolute.core.order import Order, Ref, Report
from evolute.core.protocols import Engine
from evolute.core.solo import adapt
from evolute.core.tree import digest
from evolute.core.worker import Worker
from evolute.store.checkpoints import Checkpoints


def check_engine(make: Callable[[Worker], Engine]) -> None:
    """Submit, wait, inherit, fail, save, forget and read back; compare with what one worker does."""
    with tempfile.TemporaryDirectory(prefix="evolute-") as folder:
        states = Checkpoints(Path(folder))
        with contextlib.closing(make(Worker(adapt(count_up), states))) as engine:
            _check(engine, states)


def count_up(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """A learner whose result is known; it fails when asked to."""
    if hparams["by"] < 0:
        raise ArithmeticError("asked to fail")
    total = (0 if state is None else state["total"]) + hparams["by"] * steps
    return {"total": total}, {"score": float(total)}


def _check(engine: Engine, states: Checkpoints) -> None:
    orders = [Order(member, 0, {"by": member - 1}, steps=2, seed=member) for member in range(4)]
    engine.submit(orders)
    reports = _all(engine, 4)
    assert sorted(reports) == [order.ref for order in orders], "every order gets one report"
    assert reports[Ref(0, 0)].failed, "a learner's exception is a failed turn"
    assert "asked to fail" in (reports[Ref(0, 0)].error or ""), "a failed turn says why"
    assert engine.wait() == [], "nothing runs, so there is nothing to wait for"

    heir = Order(0, 1, {"by": 5}, steps=2, seed=9, start=Ref(3, 0))
    engine.submit([heir])
    report = _all(engine, 1)[heir.ref]
    assert report.metrics["score"] == 14, "an heir continues from the state that its order names"
    assert report.digest == digest({"total": 14}), "a report carries the digest of the new state"

    engine.save([heir.ref])
    assert states.read(heir.ref) == {"total": 14}, "a saved state can be read"
    engine.keep(set())
    again = Order(2, 1, {"by": 1}, steps=1, seed=9, start=heir.ref)
    engine.submit([again])
    assert _all(engine, 1)[again.ref].metrics["score"] == 15, "a state that was dropped is read from its checkpoint"


def _all(engine: Engine, count: int) -> dict[Ref, Report]:
    reports: dict[Ref, Report] = {}
    while len(reports) < count:
        arrived = engine.wait()
        assert arrived, "wait gave nothing although orders run"
        for report in arrived:
            assert report.order.ref not in reports, "one order got two reports"
            reports[report.order.ref] = report
    return reports
