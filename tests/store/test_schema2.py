"""Runs of schema 2, which knew no requests, are still shown, resumed and steered.

The folder in `data/schema2` was written by the last Evolute of that schema (commit b707347): `toy`, killed while it journalled
the reports of its third turn. `uninterrupted.json` is what it comes to if nobody kills it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
from pathlib import Path

import pytest

import evolute
from evolute.report.data.details import run_details
from evolute.runs.result import Run
from evolute.store.journal import SCHEMA, Journal
from evolute.store.requests import RequestFolder

DATA = Path(__file__).parent / "data" / "schema2"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(DATA / "toy", tmp_path / "toy")
    return tmp_path / "toy"


def schema(folder: Path) -> int:
    with contextlib.closing(Journal.read(folder)) as journal:
        return json.loads(journal._db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0])


def test_it_is_shown_as_it_is(folder):
    assert schema(folder) == 2
    assert run_details(Run.open(folder))["requests"] == []
    assert schema(folder) == 2


def test_it_ends_as_if_it_had_not_been_interrupted(folder):
    done = evolute.resume(folder, display="none")
    turns = sorted([*turn.ref, turn.score, turn.report.digest] for one in done.population.members for turn in one.history())
    assert turns == [pytest.approx(turn) for turn in json.loads((DATA / "uninterrupted.json").read_text())]
    assert schema(folder) == SCHEMA


def test_it_can_be_steered(folder):
    RequestFolder(folder).put({"kind": "pin", "member": 1})
    done = evolute.resume(folder, display="none")
    assert [str(answer) for answer in done.answers] == ["pin member 1"]
    assert done.population[1].last.order.why == {"event": "pinned"}
