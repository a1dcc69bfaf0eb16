"""Law 4: hyper-parameters stay in their space, in type and bounds, and a changed one acts on the very next update."""

from __future__ import annotations

import numpy as np
import pytest

import evolute
from evolute.core.param import Choice, Float, Int, Ordinal

SPACE = {
    "lr": Float(1e-5, 1e-1, log=True),
    "discount": Float(0.8, 0.9999, complement=True),
    "entropy": Float(0.0, 0.1),
    "epochs": Int(1, 7),
    "activation": Choice("relu", "tanh", True),
    "width": Ordinal(32, 64, 128),
}


def note(state, hparams, steps, seed):
    """Remember every update's size and what it should have been."""
    past = [] if state is None else state["past"]
    return {"past": [*past, hparams["lr"]]}, {"score": np.random.default_rng(seed).normal(), "update": hparams["lr"]}


@pytest.mark.parametrize("strategy", ["pbt", "winner_takes_all", "random_search"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_every_order_of_a_long_run_lies_in_the_space(tmp_path, strategy, mode):
    run = evolute.run(
        note, space=SPACE, strategy=strategy, mode=mode, population=8, stop={"turns": 60}, runs=tmp_path, display="none"
    )
    for member in run.population.members:
        for turn in member.history():
            assert turn.order.hparams.keys() == SPACE.keys()
            assert all(param.contains(turn.order.hparams[name]) for name, param in SPACE.items())


def test_a_changed_hyper_parameter_acts_on_the_very_next_update(tmp_path):
    run = evolute.run(note, space=SPACE, population=8, stop={"turns": 30}, runs=tmp_path, display="none")
    changed = 0
    for member in run.population.members:
        for turn in member.history():
            assert turn.report.metrics["update"] == turn.order.hparams["lr"]
            changed += turn.parent is not None and turn.parent.order.hparams["lr"] != turn.order.hparams["lr"]
        line = run.member(member.slot)
        assert line.state["past"] == [hparams["lr"] for hparams in line.schedule]
    assert changed > 20


def test_fixed_settings_reach_the_learner_unchanged(tmp_path):
    seen = []

    def train(state, hparams, steps, seed):
        seen.append(hparams)
        return None, {"score": 0.0}

    space = {"lr": Float(0.1, 0.2), "batch": 7, "layers": (64, 64, 32)}
    evolute.run(train, space=space, population=2, stop={"turns": 3}, runs=tmp_path, display="none")
    assert len(seen) == 6
    assert all(hparams["batch"] == 7 and list(hparams["layers"]) == [64, 64, 32] for hparams in seen)
