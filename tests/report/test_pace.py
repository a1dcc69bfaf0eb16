"""The speed that is shown: over some seconds, and never over less than one turn of everybody."""

from __future__ import annotations

import time

import pytest

from evolute.core.population import Population
from evolute.core.stop import Stop
from evolute.report import formats
from evolute.report.pace import Pace


def test_slow_members_that_report_together_do_not_make_the_speed_jump(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    pace = Pace(Stop(turns=10), 100, members=4)
    pace.count(0, 0)
    for now in (40.0, 40.1, 40.2, 40.3, 80.0, 80.1, 80.2, 80.3):
        clock[0] = now
        pace.count(1, 100)
        if now > 41:
            turns, steps = pace.speed
            assert turns == pytest.approx(0.1, rel=0.35)
            assert steps == pytest.approx(10, rel=0.35)


def test_a_fast_run_shows_the_speed_of_the_last_seconds(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    pace = Pace(Stop(turns=10), 1, members=4)
    pace.count(0, 0)
    for second in range(1, 100):
        clock[0] = float(second)
        pace.count(10 if second < 50 else 20, 1)
    assert pace.speed == pytest.approx((20, 1))


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1,234"), (9.44, "9.4"), (0.253, "0.25"), (0, "0")])
def test_a_rate_is_never_rounded_to_nothing(value, text):
    assert formats.rate(value) == text


def test_one_turn_is_not_several():
    assert Stop(turns=1).reached(Population.of(0), 0) == "finished its 1 turn"
    assert Stop(turns=2).reached(Population.of(0), 0) == "finished its 2 turns"
    assert Stop(steps=1000).reached(Population.of(0), 0) == "finished its 1,000 steps per member"
