"""What is shown of a user's code that hangs or crashes in a turn: where it was, and then the reason."""

from __future__ import annotations

import ctypes
import time

import pytest

from evolute.core.order import Order
from evolute.core.solo import adapt
from evolute.core.worker import Worker
from evolute.engines.trainer_process import TrainerProcess
from evolute.testing.memory import MemoryStates


def waits_for_ever(state, hparams, steps, seed):
    while True:
        time.sleep(0.01)


def reads_nothing(state, hparams, steps, seed):
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("train", "reason"),
    [(waits_for_ever, "longer than its limit of 1 s"), (reads_nothing, "the worker process died (signal 11)")],
)
def test_a_turn_that_hangs_or_crashes_tells_where_it_was(train, reason):
    trainer = TrainerProcess(Worker(adapt(train), MemoryStates()), limit=1.0 if train is waits_for_ever else 60.0)
    try:
        (report,) = trainer.train([Order(0, 0, {}, steps=1, seed=1)])
    finally:
        trainer.close()
    assert reason in report.reason
    assert train.__name__ in report.error
    assert "test_trace.py" in report.error
