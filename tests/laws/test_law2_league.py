"""Law 2 for a league: killed in the middle of it, on any engine, it ends as if nothing had happened."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from tests.engines.workers import outcome, reported
from tests.laws.killed import Killer, alone

from evolute.core.order import Ref
from evolute.runs.result import Run

TURNS = 6
RPS = {
    "preset": "rps", "population": 5, "interval": 64, "stop": {"turns": TURNS}, "durable": 2,
    "opponents": "league", "league": {"mains": 2, "exploiters": 2}, "opponents.tables": 2, "opponents.matches": 4,
    "ppo": {"envs": 4, "unroll": 8, "minibatches": 2, "widths": [4]},
}  # fmt: skip
DUELS = {
    "learner": "tests.opponents.duels:duel", "duel": {"lr": "log[0.01, 0.3]"}, "population": 5, "interval": 2,
    "stop": {"turns": TURNS}, "durable": 2,
    "opponents": "league", "league": {"mains": 2, "exploiters": 2}, "opponents.live": 0.25,
}  # fmt: skip
PARTS = 8
"""The write points of a league, in parts; with EVOLUTE_EVERY_POINT=1 all parts are run."""


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


def is_league(folder: Path) -> bool:
    """Whether past states were opponents, and somebody began again: what a league adds to other runs."""
    turns = [turn for member in Run.open(folder).population.members for turn in member.history()]
    met = [(turn, one) for turn in turns for lineup in turn.order.opponents for one in lineup if isinstance(one, Ref)]
    restarted = any(turn.order.why.get("event") == "restart" for turn in turns)
    return restarted and any(one.turn < turn.ref.turn - 1 for turn, one in met)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A league in one process that was left alone."""
    folder = tmp_path_factory.mktemp("runs") / "whole"
    assert alone(folder, {**RPS, "engine": "inline"}) == 0
    assert is_league(folder)
    return folder


@pytest.mark.slow(reason="PPO's league on processes, MPI ranks and Ray actors, killed in a decision and among reports")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("engine", ["processes", "mpi", "ray"])
def test_on_every_engine_a_league_that_was_killed_ends_like_one_that_was_not(whole, tmp_path, engine):
    settings = {**RPS, "engine": engine, **({} if engine == "mpi" else {"workers": 2})}
    points = [("journal.decide.filled", 5), ("journal.record.done", 4)]
    for point, times in points if engine == "processes" else points[:1]:
        folder = tmp_path / point
        assert alone(folder, settings, point, times) != 0
        assert 0 < reported(folder) < TURNS * RPS["population"]
        assert alone(folder, settings) == 0
        assert outcome(folder) == outcome(whole)


@pytest.mark.slow(reason="write points of a small league, an eighth of them or all")
@pytest.mark.parametrize("part", range(0, PARTS, 1 if os.environ.get("EVOLUTE_EVERY_POINT") else PARTS))
def test_a_league_killed_at_any_write_point_ends_like_one_that_was_not(train, tmp_path, part):
    assert train(tmp_path / "whole", DUELS) == 0
    assert is_league(tmp_path / "whole")
    passed, expected = json.loads((tmp_path / "whole.points").read_text()), outcome(tmp_path / "whole")
    different = []
    for point in range(1 + part, len(passed) + 1, PARTS):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, DUELS, point) == -signal.SIGKILL
        assert train(folder, DUELS) == 0
        different += [point] if outcome(folder) != expected else []
    assert different == []
