"""A small run of a game, trained once for all tests here."""

from __future__ import annotations

from pathlib import Path

import pytest

import evolute

SMALL = {"envs": 8, "unroll": 8, "widths": [4], "minibatches": 1, "epochs": 1}


@pytest.fixture(scope="session")
def rps(tmp_path_factory) -> Path:
    settings = {f"ppo.{name}": value for name, value in SMALL.items()} | {"opponents.anchors": "random"}
    space = {"lr": evolute.Float(1e-4, 1e-2, log=True)}
    stop = {"turns": 1}
    folder = tmp_path_factory.mktemp("games") / "rps"
    more = {"population": 2, "interval": 64, "stop": stop, "display": "none", "opponents": "history"}
    return evolute.run("ppo", env="matrix:rps", space=space, folder=folder, **more, **settings).folder
