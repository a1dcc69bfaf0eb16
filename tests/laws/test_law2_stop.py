"""Law 2 for what ends a run: one that was killed ends where, and for the reason that, it would have ended otherwise."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.laws.killed import Killer

from evolute.core.plateau import Plateau
from evolute.runs.result import Run
from evolute.store.journal import Journal

BASE = {"learner": "levelling:levelling", "space": {"h": [0, 1]}, "interval": 10, "durable": 2, "seed": 3}
PATIENT = {**BASE, "population": 3, "stop": {"patience": 3}}
TOTAL = {**BASE, "population": 3, "stop": {"total": 100}}
ASYNC = {"mode": "async", "engine": "simulated", "simulated": {"durations": [1, 2, 5]}}


@pytest.fixture(scope="module")
def train():
    killer = Killer()
    yield killer.train
    killer.close()


def killed(train, tmp_path: Path, settings: dict, every: int) -> list[Path]:
    """Folders in which a run was killed at some write point and then run again; the first one is of a run that was not."""
    assert train(tmp_path / "whole", settings) == 0
    folders = [tmp_path / "whole"]
    for point in range(every, len(json.loads((tmp_path / "whole.points").read_text())), every):
        folder = tmp_path / f"killed-{point}"
        assert train(folder, settings, point) == -signal.SIGKILL
        assert train(folder, settings) == 0
        folders.append(folder)
    return folders


def outcome(folder: Path) -> tuple[str, str | None]:
    journal = Journal.read(folder)
    found = journal.canonical(), journal.meta.ended
    journal.close()
    return found


def scores(folder: Path) -> list[tuple[int, float | None]]:
    journal = Journal.read(folder)
    found = journal.scores()
    journal.close()
    return found


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (PATIENT, "found no new best score in 3 turns"),
        (TOTAL, "finished its 100 steps of all members together"),
    ],
)
def test_a_killed_run_stops_where_the_whole_one_does(train, tmp_path, settings, reason):
    whole, *others = killed(train, tmp_path, settings, 17)
    assert outcome(whole)[1] == reason
    assert len(others) > 2
    assert [folder.name for folder in others if outcome(folder) != outcome(whole)] == []


@pytest.mark.slow("an asynchronous run, killed here and there, keeps counting where it was")
def test_without_a_barrier_patience_is_counted_in_the_order_of_the_journal(train, tmp_path):
    for folder in killed(train, tmp_path, {**PATIENT, **ASYNC}, 23):
        assert outcome(folder)[1] == "found no new best score in 3 turns"
        turns = scores(folder)
        assert Plateau.of(turns, barrier=False).turns >= 9
        longest = max(Plateau.of(turns[:count], barrier=False).turns for count in range(len(turns) + 1))
        assert longest < 9 + 3, "nobody was given a turn after it, so at most those of the other two came in"


@pytest.mark.slow("an asynchronous run, killed here and there, gives no step out twice")
def test_without_a_barrier_the_steps_of_all_are_given_out_to_the_last(train, tmp_path):
    for folder in killed(train, tmp_path, {**TOTAL, **ASYNC}, 23):
        run = Run.open(folder)
        assert run.meta.ended == "finished its 100 steps of all members together"
        assert sum(member.steps for member in run.population.members) == 100
        assert len({member.turns for member in run.population.members}) > 1
