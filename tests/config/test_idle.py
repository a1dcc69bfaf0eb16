"""Settings that do nothing are said, and those that do something are not."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys

import pytest

from evolute.cli.dry_run import print_dry_run
from evolute.config.idle import idle_settings
from evolute.config.layers import override, preset, stack
from evolute.config.resolve import resolved
from evolute.runs.assemble import assembled


def config(*words, base="toy"):
    return resolved(stack([preset(base), *map(override, words)]))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["workers=2"], r"workers = 2 \(-m\) does nothing: the engine inline has no workers; set engine=processes"),
        (["workers=2", "engine=mpi"], r"workers = 2 \(-m\) does nothing: under engine=mpi each rank is a worker"),
        (["actors.count=2"], r"actors.count = 2 \(-m\) does nothing: the learner toy steps its environments itself; ppo, a2c"),
        (["actors.evaluators=2"], r"actors.evaluators = 2 \(-m\) does nothing: the learner toy steps its environments itself"),
        (["actors.where=ray"], r"actors.where = ray \(-m\) does nothing without actors: set actors.count"),
        (["interval=100", "steps=80"], r"interval = 100 \(-m\) with 80 steps is one turn.*set interval=8 for ten turns"),
        (["interval=80", "steps=80"], r"is one turn, after which nobody inherits"),
        (["toy.h0=1", "toy.h1=1", "init.hparams="], r"nothing is evolved.*as in 'toy\.NAME=log\[1e-4, 1e-2\]'"),
    ],
)
def test_what_was_set_in_vain_is_said_once(words, said):
    made = config(*words)
    (text,) = idle_settings(made)
    assert list(assembled(made, {}).advice).count(text) == 1
    assert re.search(said, text)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["workers=1"],
        ["workers=2", "engine=processes"],
        ["workers=2", "engine=ray"],
        ["interval=40", "steps=80"],
        ["interval=80", "steps=80", "strategy=random_search"],
        ["interval=80", "steps=80", "population=1", "init.hparams="],
        ["stop.turns=1"],
    ],
)
def test_what_works_is_not_commented(words):
    assert idle_settings(config(*words)) == []


def test_the_learning_rate_is_the_example_where_there_is_one():
    made = resolved(stack(map(override, ["learner=ppo", "env=CartPole-v1"])))
    assert "'ppo.lr=log[1e-4, 1e-2]'" in idle_settings(made)[0]


@pytest.mark.parametrize(
    ("words", "turns", "steps"),
    [
        (["interval=100", "steps=80", "population=2"], "1 of each member, 80 steps each", "160 of the whole"),
        (["interval=30", "steps=80", "population=2"], "3 of each member, 30 steps each and 20 in the last", "160 of the whole"),
        (["interval=30", "steps=80", "stop.turns=2", "population=2"], "2 of each member, 30 steps each", "120 of the whole"),
        (["interval=30", "stop.turns=2", "population=2"], "2 of each member, 30 steps each", "120 of the whole"),
        (
            ["interval=30", "stop.total=90", "population=2"],
            "2 of each member, 30 steps each and 15 in the last",
            "90 of the whole",
        ),
        (
            ["interval=30", "stop.turns=2", "stop.patience=1"],
            "at most 2 of each member, 30 steps each",
            "at most 120 of the whole",
        ),
        (["interval=30", "stop.patience=3"], "as many as it takes", "as many as it takes"),
    ],
)
def test_the_dry_run_does_not_contradict_itself(words, turns, steps):
    out = io.StringIO()
    print_dry_run(config("stop.turns=", *words), None, None, out)
    lines = out.getvalue().splitlines()
    assert f"turns:     {turns}" in lines
    assert any(line.startswith(f"steps:     {steps}") for line in lines)
    assert ("note:" in out.getvalue()) == (words[0] == "interval=100")


def test_the_dry_run_says_what_ends_the_run():
    out = io.StringIO()
    print_dry_run(config("stop.total=1k", "stop.patience=3", "stop.time=1m", "stop.score=2"), None, None, out)
    rules = "1,000 steps of all members together or 60 seconds of training or a score of 2 or 3 turns without a new best score"
    assert f"ends:      after 50 turns of each member or {rules}" in out.getvalue().splitlines()


def test_weights_and_biases_without_a_login_is_refused_before_the_run(tmp_path):
    pytest.importorskip("wandb")
    stranger = {key: value for key, value in os.environ.items() if not key.startswith("WANDB_")}
    stranger |= {"HOME": str(tmp_path), "NETRC": str(tmp_path / "netrc")}
    command = [sys.executable, "-m", "evolute", "run", "toy", "-m", "log=wandb", "stop.turns=1"]
    refused = subprocess.run(command, cwd=tmp_path, env=stranger, capture_output=True, text=True)
    assert refused.returncode == 2
    assert refused.stderr.startswith("error: log = wandb: not logged in to Weights & Biases: run `wandb login`")
    assert not (tmp_path / "runs").exists()
    done = subprocess.run(command, cwd=tmp_path, env={**stranger, "WANDB_MODE": "offline"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
