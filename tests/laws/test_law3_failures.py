"""Law 3: a member that fails, hangs or returns nonsense never takes the run down, and is replaced from a donor at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import evolute
from evolute.report.data.details import run_details


def misbehave(kind: str):
    """A learner in which whoever drew the highest h in turn 1 of its line does something wrong."""

    def train(state, hparams, steps, seed):
        turn = 0 if state is None else state["turn"]
        metrics = {"score": -hparams["h"]}
        if turn == 1 and hparams["h"] > 0.8:
            match kind:
                case "raises":
                    raise ArithmeticError("went wrong")
                case "NaN":
                    metrics = {"score": float("nan")}
                case "infinite":
                    metrics = {"score": np.float32("inf")}
                case "wrong shape":
                    metrics = {"score": np.zeros(3)}
                case "not a pair":
                    return {"turn": 2}
                case "no score":
                    metrics = {"loss": 1.0}
                case "leaves":
                    sys.exit(0)
                case "interrupts itself":
                    raise KeyboardInterrupt
                case "unkeepable state":
                    return {"turn": object()}, metrics
                case "never returns":
                    time.sleep(1000)
                case "dies":
                    os._exit(3)
        return {"turn": turn + 1}, metrics

    return train


FIRST = [{"h": 0.9}, {"h": 0.1}, {"h": 0.2}, {"h": 0.3}, {"h": 0.95}]
KINDS = [
    "raises",
    "NaN",
    "infinite",
    "wrong shape",
    "not a pair",
    "no score",
    "unkeepable state",
    "leaves",
    "interrupts itself",
    "never returns",
    "dies",
]
PROCESS = ("never returns", "dies")


@pytest.mark.parametrize("strategy", ["pbt", "winner_takes_all"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_failing_member_is_replaced_from_a_donor_in_the_next_turn(tmp_path, kind, strategy):
    run = evolute.run(
        misbehave(kind),
        space={"h": evolute.Float(0.0, 1.0)},
        strategy=strategy,
        population=5,
        stop={"turns": 4},
        init={"hparams": FIRST},
        runs=tmp_path,
        limit=1.0 if kind in PROCESS else None,
        display="none",
        **{strategy: {"burn_in": 1000, **({"quantile": 0.1} if strategy == "pbt" else {})}},
    )
    for slot in (0, 4):
        turns = list(run.population[slot].history())[::-1]
        assert turns[1].failed
        assert turns[2].order.why["event"] == "rescue"
        assert turns[2].order.start.member in (1, 2, 3)
        assert turns[2].order.start.turn == 1
    assert all(member.turns == 4 for member in run.population.members)
    told = run_details(run)
    assert told["failed"] >= 2
    assert told["rescued"] >= 2


def test_a_strategy_that_does_not_exploit_retries_from_its_own_state_then_starts_anew(tmp_path):
    def train(state, hparams, steps, seed):
        turn = 0 if state is None else state["turn"]
        if turn == 1 and hparams["h"] > 0.8:
            raise ArithmeticError("went wrong")
        return {"turn": turn + 1}, {"score": hparams["h"]}

    run = evolute.run(
        train,
        space={"h": evolute.Float(0.0, 1.0)},
        strategy="random_search",
        population=2,
        stop={"turns": 5},
        init={"hparams": [{"h": 0.9}, {"h": 0.1}]},
        runs=tmp_path,
        display="none",
        seed=1,
    )
    turns = list(run.population[0].history())[::-1]
    assert [turn.failed for turn in turns[:4]] == [False, True, True, False]
    assert [turn.order.start and turn.order.start.turn for turn in turns[:4]] == [None, 0, 0, None]
    assert turns[3].order.hparams != turns[0].order.hparams


LEARNER = """
from pathlib import Path
def train(state, hparams, steps, seed):
    turn = 0 if state is None else state["turn"]
    if turn == 2 and not Path("mended").exists():
        raise ArithmeticError("a bug at line one")
    return {"turn": turn + 1}, {"score": hparams["h"] + turn}
"""


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_when_all_fail_the_run_stops_with_one_traceback_and_resumes_after_a_fix(tmp_path, mode):
    (tmp_path / "own.py").write_text(LEARNER)
    command = [sys.executable, "-m", "evolute", "run", "-m", "learner=own:train", "train.h=[0, 1]", "population=3"]
    command += ["stop.turns=5", f"mode={mode}", "name=own"]
    broken = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert broken.returncode == 2
    assert broken.stderr.count("Traceback") == 1
    assert broken.stderr.count("a bug at line one") >= 1
    assert "evolute resume runs/own-1" in broken.stderr
    (tmp_path / "mended").touch()
    mended = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert mended.returncode == 0, mended.stderr
    end = json.loads(mended.stdout.splitlines()[-1])
    assert end["run"] == "runs/own-1"
    assert [member["turns"] for member in end["members"]] == [5, 5, 5]
    if mode == "sync":
        assert end["failed"] == 0


def test_a_metric_that_is_not_finite_is_noted_as_unknown_and_fails_nobody(tmp_path):
    def train(state, hparams, steps, seed):
        return None, {"score": hparams["h"], "loss": float("nan"), "size": np.inf, 3: 1.0}

    run = evolute.run(train, space={"h": [0, 1]}, population=2, stop={"turns": 2}, runs=tmp_path, display="none")
    metrics = run.best.turn.report.metrics
    assert (metrics["loss"], metrics["size"], metrics["3"]) == (None, None, 1.0)
