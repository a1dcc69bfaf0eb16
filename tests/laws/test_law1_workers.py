"""Law 1 with real workers: processes, ranks of an MPI job and Ray actors give the same run as one process, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest
from tests.engines import mpiexec
from tests.engines.workers import outcome

PROBLEMS = {
    "toy": ["toy", "-m", "population=7", "stop.turns=12", "strategy=pbt"],
    "winner takes all": ["toy", "-m", "population=7", "stop.turns=6", "strategy=winner_takes_all"],
    "ppo": [
        "cartpole", "-m", "population=6", "interval=256", "stop.steps=1024", "ppo.envs=4", "ppo.unroll=16", "ppo.minibatches=2",
        "ppo.widths=[8]", "pbt.quantile=0.4", "pbt.burn_in=0",
    ],
    "league": [
        "rps", "-m", "population=5", "interval=64", "stop.turns=6", "opponents=league", "league.mains=2", "league.exploiters=2",
        "opponents.tables=2", "opponents.matches=4", "ppo.envs=4", "ppo.unroll=8", "ppo.minibatches=2", "ppo.widths=[4]",
    ],
    "taught": [
        "ceilings", "-m", "population=4", "stop.turns=24", "bg_pbt.generations=1", "bg_pbt.longest=3", "bg_pbt.taught=4",
    ],
}  # fmt: skip
ENGINES = {
    **{f"{count} processes": [None, "engine=processes", f"workers={count}"] for count in (1, 2, 4)},
    **{
        f"{count} ranks, {exchange}": [count, "engine=mpi", f"mpi.exchange={exchange}"]
        for count in (1, 2, 4)
        for exchange in ("p2p", "collective")
    },
    "2 Ray actors": [None, "engine=ray", "workers=2"],
}


def train(folder, problem, ranks=None, *engine):
    words = ["run", *PROBLEMS[problem], *engine, "--folder", str(folder)]
    if ranks is not None:
        done = mpiexec.evolute(ranks, *words, cwd=folder.parent)
    else:
        done = subprocess.run([sys.executable, "-m", "evolute", *words], cwd=folder.parent, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return outcome(folder)


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """What a problem comes to in one process."""
    return cache(lambda problem: train(tmp_path_factory.mktemp("inline") / "run", problem))


LEAGUES = ("2 processes", "4 ranks, p2p", "4 ranks, collective", "2 Ray actors")
"""Where a league is played; a game of several members needs more states to travel, and nothing else."""
ALWAYS = {
    ("2 processes", "league"),
    ("2 processes", "toy"),
    ("2 processes", "taught"),
    ("2 processes", "ppo"),
    ("2 ranks, p2p", "toy"),
    ("2 ranks, collective", "winner takes all"),
}
"""Pairs that are run always; the other combinations of engine and problem are slow."""
EVERY = pytest.mark.slow(reason="every engine, with 1, 2 and 4 workers, on every problem")


@pytest.mark.parametrize(
    ("engine", "problem"),
    [
        (engine, problem) if (engine, problem) in ALWAYS else pytest.param(engine, problem, marks=EVERY)
        for engine in ENGINES
        for problem in PROBLEMS
        if problem != "league" or engine in LEAGUES
    ],
)
def test_every_engine_gives_the_same_orders_scores_and_weights(tmp_path, expected, problem, engine):
    assert train(tmp_path / "run", problem, *ENGINES[engine]) == expected(problem)
