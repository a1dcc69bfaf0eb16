"""Hints: each is given where it helps, and not otherwise."""

from __future__ import annotations

import numpy as np

import evolute
from evolute.report.data.hints import hints
from evolute.runs.turns import TurnTable


def trained(tmp_path, train, space, **settings):
    settings = {"population": 8, "interval": 1, "stop": {"turns": 20}, **settings}
    return hints(TurnTable.read(evolute.run(train, space=space, folder=tmp_path / "run", display="none", **settings).folder))


def test_winners_at_a_bound(tmp_path):
    def train(state, hparams, steps, seed):
        total = (0 if state is None else state) + hparams["x"]
        return total, {"score": total}

    said = trained(tmp_path, train, {"x": evolute.Float(1, 4)})
    assert any("x: the winners sit at its upper bound 4" in hint for hint in said)


def test_lost_diversity(tmp_path):
    def train(state, hparams, steps, seed):
        total = (0 if state is None else state) + 1 - (hparams["x"] - 0.5) ** 2
        return total, {"score": total}

    said = trained(tmp_path, train, {"x": evolute.Float(0, 1)}, pbt={"explore": "none"})
    assert any("nearly the same hyper-parameters" in hint for hint in said)


def test_gains_no_larger_than_noise(tmp_path):
    def train(state, hparams, steps, seed):
        return 0, {"score": float(np.random.default_rng(seed).normal())}

    assert any("selection follows noise" in hint for hint in trained(tmp_path, train, {"x": evolute.Float(0, 1)}))


def test_a_healthy_run_gets_no_hint(tmp_path):
    def train(state, hparams, steps, seed):
        total = (0 if state is None else state) + 1 - abs(hparams["x"] - 0.5)
        return total, {"score": total}

    assert trained(tmp_path, train, {"x": evolute.Float(0, 1)}, pbt={"resample": 0.5}) == []
