"""Law 2 for strategies that remember: the proposal after a kill equals the uninterrupted one."""

from __future__ import annotations

import contextlib

import pytest

import evolute
from evolute.store.journal import Journal


def canonical(folder):
    with contextlib.closing(Journal.read(folder)) as journal:
        return journal.canonical()


@pytest.mark.parametrize("strategy", ["pb2_rand", "pb2_mult", "pb2_mix", "bg_pbt"])
def test_a_run_stopped_anywhere_goes_on_with_the_same_proposals(tmp_path, stopped_at, strategy):
    def train(name):
        settings = {"preset": "drift_mixed", "strategy": strategy, "stop": {"turns": 7}, "seed": 3}
        evolute.run(**settings, folder=tmp_path / name, display="none")

    train("whole")
    expected = canonical(tmp_path / "whole")
    assert '"gain"' in expected
    for count in (25, 33):
        stopped_at(count, lambda count=count: train(f"stopped-{count}"))
        assert len(canonical(tmp_path / f"stopped-{count}")) < len(expected)
        train(f"stopped-{count}")
        assert canonical(tmp_path / f"stopped-{count}") == expected
