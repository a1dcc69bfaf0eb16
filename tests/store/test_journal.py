"""The journal: what goes in comes out, readers disturb nobody, and a foreign or newer folder gives a sentence."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace

import pytest

from evolute.core.order import Match, Order, Ref, Report
from evolute.core.resume import replay
from evolute.store.error import StoreError
from evolute.store.journal import FILE, Journal, _on_network
from evolute.store.meta import RunMeta

FULL = Order(
    1,
    2,
    {"lr": 1e-5, "act": "tanh"},
    Ref(0, 1),
    10,
    7,
    Ref(1, 1),
    Ref(3, 0),
    (0.75, 0.25),
    ((Ref(2, 1), "random", None),),
    {"event": "inherit"},
)
MATCHES = (
    Match((Ref(2, 1), "random", None), 0.5, 32, -0.25),
    Match((Ref(2, 1), "rps-1:0@9", None), 0.5, 32, -0.25, 1.5),
)


@pytest.fixture
def journal(tmp_path):
    opened = Journal.create(tmp_path, RunMeta(identity={"a": 1}, population=4))
    yield opened
    opened.close()


@pytest.mark.parametrize("order", [FULL, Order(0, 0, {})])
def test_an_order_comes_back_as_it_went_in(journal, order):
    journal.decide(0, [order], {"weights": [1.5]})
    (decision,) = journal.decisions()
    assert decision.orders == [order]
    assert decision.state == {"weights": [1.5]}


@pytest.mark.parametrize(
    "report",
    [
        Report(FULL, {"score": 0.1 + 0.2, "loss": None}, 12, MATCHES, "abc", seconds=1.5),
        Report(FULL, error="Traceback\nValueError: no", seconds=0.5),
        Report(FULL, {"score": 1.0}, 12, timing={"restarts": 1.0}, incidents=("an actor died (signal 9) and was replaced",)),
    ],
)
def test_a_report_comes_back_as_it_went_in(journal, report):
    journal.decide(0, [FULL], {})
    journal.record([report], 3.25)
    assert journal.decisions()[0].reports == [report]
    assert journal.elapsed == 3.25


def test_timing_is_told_with_metrics_and_no_part_of_the_canonical_record(tmp_path):
    plain = Report(FULL, {"score": 1.0, "loss": None}, 12, digest="abc")
    timed = replace(plain, seconds=2.0, timing={"samples_per_second": 812.5}, incidents=("an actor died",))
    records, metrics = [], []
    for number, report in enumerate([plain, timed]):
        (tmp_path / str(number)).mkdir()
        with contextlib.closing(Journal.create(tmp_path / str(number), RunMeta(population=4))) as journal:
            journal.decide(0, [FULL], {})
            journal.record([report], 3.25)
            records.append(journal.canonical())
            metrics.append(json.loads(journal.turns()[0][8]))
    assert records[0] == records[1]
    assert metrics == [{"score": 1.0, "loss": None}, {"score": 1.0, "loss": None, "samples_per_second": 812.5}]


def test_a_report_is_taken_only_once(journal):
    journal.decide(0, [FULL], {})
    journal.record([Report(FULL)], 1.0)
    with pytest.raises(StoreError, match="UNIQUE"):
        journal.record([Report(FULL)], 2.0)


def test_times_are_not_part_of_the_canonical_dump(tmp_path):
    dumps = []
    for place, seconds in enumerate((1.0, 2.0)):
        folder = tmp_path / str(place)
        folder.mkdir()
        journal = Journal.create(folder, RunMeta())
        journal.decide(0, [FULL], {})
        journal.record([Report(FULL, {"score": 1.0}, seconds=seconds)], seconds)
        journal.note("later", at=seconds)
        dumps.append(journal.canonical())
        journal.close()
    assert dumps[0] == dumps[1]
    assert '"score":1.0' in dumps[0]


def test_rewinding_forgets_later_decisions_and_their_reports(journal):
    orders = [Order(0, turn, {}, start=Ref(0, turn - 1) if turn else None) for turn in range(3)]
    for number, order in enumerate(orders):
        journal.decide(number, [order], {"n": number})
        journal.record([Report(order, {"score": float(number)})], float(number))
    journal.rewind(2, [Ref(0, 1)])
    population = replay(4, journal.decisions())
    assert population[0].turns == 1
    assert population.running == [orders[1]]
    journal.rewind(1)
    assert replay(4, journal.decisions()).running == []
    journal.decide(1, [orders[1]], {})


def test_readers_see_what_is_committed_while_the_leader_writes(journal, tmp_path):
    reader = Journal.read(tmp_path)
    journal.decide(0, [FULL], {})
    assert reader.decisions()[0].orders == [FULL]
    with pytest.raises(StoreError, match="readonly"):
        reader.note("no")
    reader.close()


def test_a_newer_schema_is_refused_with_a_sentence(journal, tmp_path):
    journal._db.execute("UPDATE meta SET value = '99' WHERE key = 'schema'")
    for opening in (Journal.read, Journal.write):
        with pytest.raises(StoreError, match="schema version 99, and this Evolute reads versions 1 to 3"):
            opening(tmp_path)


@pytest.mark.parametrize("content", [b"", b"not a database at all, sorry" * 100, None])
def test_a_foreign_folder_gives_a_sentence(tmp_path, content):
    if content is not None:
        (tmp_path / FILE).write_bytes(content)
    with pytest.raises(StoreError, match=r"not a run|not a journal"):
        Journal.read(tmp_path)


def test_another_programs_database_is_not_a_journal(tmp_path):
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("CREATE TABLE meta (key, value)")
    db.close()
    with pytest.raises(StoreError, match="schema version none"):
        Journal.read(tmp_path)


@pytest.mark.parametrize(("kind", "network"), [("ext4", False), ("nfs4", True), ("lustre", True), ("tmpfs", False)])
def test_network_file_systems_are_recognised_by_the_innermost_mount(tmp_path, kind, network):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"root / nfs rw 0 0\nshare {tmp_path} {kind} rw 0 0\n")
    assert _on_network(tmp_path / "journal", mounts) is network
