"""Runs of schema 1 are still listed, shown, reported, resumed and replayed.

Both folders in `data/schema1` were written by the last Evolute of that schema (commit 26899eb): `toy`, killed while it
journalled the reports of its fourth turn, and `ppo`, a finished run whose winner was evaluated. `uninterrupted.json` is
what `toy` comes to if nobody kills it: member, turn, score and digest of every turn.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import evolute
from evolute.cli.main import main
from evolute.cli.replay import replay
from evolute.runs.result import Run
from evolute.runs.turns import TurnTable
from evolute.store.journal import SCHEMA, Journal
from evolute.store.meta import Evaluation

DATA = Path(__file__).parent / "data" / "schema1"
FILES = sorted(path.relative_to(DATA) for path in DATA.rglob("*") if path.is_file())
EVALUATION = Evaluation(member=1, turn=2, mean=49.88, deviation=22.25636088851904, episodes=100)
ACTIONS = [1, 1, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1]
"""What the Evolute of schema 1 did in twelve observations."""


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A copy of both runs, in the current folder's runs/."""
    shutil.copytree(DATA, tmp_path / "runs")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def schema(folder: Path) -> int:
    with contextlib.closing(Journal.read(folder)) as journal:
        return json.loads(journal._db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0])


def keys(folder: Path) -> set[str]:
    with contextlib.closing(Journal.read(folder)) as journal:
        return {key for (key,) in journal._db.execute("SELECT key FROM meta")}


def command(capsys, *arguments: str) -> str:
    with contextlib.suppress(SystemExit):
        main(list(arguments))
    return capsys.readouterr().out


def turns(folder: Path) -> list[list]:
    members = Run.open(folder).population.members
    return sorted([*turn.ref, turn.score, turn.report.digest] for member in members for turn in member.history())


def test_the_folders_are_of_schema_1():
    assert {schema(DATA / name) for name in ("toy", "ppo")} == {1}


def test_both_are_listed_and_reading_changes_nothing(runs, capsys):
    rows = {Path(row["run"]).name: row for row in json.loads(command(capsys, "ls", "--json"))}
    assert {name: (row["status"], row["turns"]) for name, row in rows.items()} == {
        "toy": ("unfinished", 9),
        "ppo": ("finished", 6),
    }
    assert rows["ppo"]["score"] == pytest.approx(25.6)
    command(capsys, "show", "ppo")
    command(capsys, "report", "ppo")
    assert all((runs / path).read_bytes() == (DATA / path).read_bytes() for path in FILES)


def test_the_evaluation_is_shown_and_reported(runs, capsys):
    shown = json.loads(command(capsys, "show", "ppo", "--json"))
    assert shown["best"]["evaluation"] == vars(EVALUATION)
    assert TurnTable.read(runs / "ppo").meta.evaluation == EVALUATION
    assert "wrote ppo.html" in command(capsys, "report", "ppo")
    assert '"evaluation":{"member":1,"turn":2,"mean":49.88' in Path("ppo.html").read_text()


def test_an_interrupted_run_ends_as_if_it_had_not_been(runs):
    done = evolute.resume(runs / "toy", display="none")
    assert done.status == "finished"
    assert turns(runs / "toy") == [pytest.approx(turn) for turn in json.loads((DATA / "uninterrupted.json").read_text())]
    assert schema(runs / "toy") == SCHEMA


def test_a_run_from_before_a_setting_was_added_is_resumed(runs):
    """`ppo.code` is newer than the run; its default is no change."""
    assert "code" not in Run.open(runs / "ppo").meta.identity["learner"][1]
    done = evolute.resume(runs / "ppo", stop={"turns": 4, "steps": None}, display="none")
    assert [member.turns for member in done.population.members] == [4, 4]


def test_an_upgraded_journal_has_the_new_names_only(runs):
    before = Run.open(runs / "ppo").meta
    Journal.write(runs / "ppo").close()
    assert schema(runs / "ppo") == SCHEMA
    assert Run.open(runs / "ppo").meta == before
    assert before.choices == {"env": "cartpole", "devices": 2}
    assert keys(runs / "ppo") & {"settled", "measured"} == set()
    assert keys(runs / "ppo") >= {"choices", "evaluation"}


def test_a_line_of_descent_is_replayed_bit_for_bit(runs, capsys):
    replay(runs / "toy", None, exact=True, seed=None, target=runs / "again", overrides=[])
    assert "bit-identical: all 3 states" in capsys.readouterr().out
    assert schema(runs / "toy") == 1


def test_a_checkpoint_still_acts(runs):
    policy = evolute.load(runs / "ppo").best.policy
    observations = np.random.default_rng(0).normal(size=(12, 4)).astype(np.float32) * 0.3
    assert [int(policy(observation)) for observation in observations] == ACTIONS
