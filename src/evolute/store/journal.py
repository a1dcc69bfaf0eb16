"""The journal: every decision and report of a run, in SQLite, each written in one transaction.

Only the leader writes. Readers open it at any time, also while it is written and after a crash.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolute.core.lineage import score_along
from evolute.core.order import Json, Order, Ref, Report
from evolute.core.population import archived
from evolute.core.ranking import winner
from evolute.core.request import Answer
from evolute.core.resume import Decision
from evolute.store.error import StoreError
from evolute.store.meta import NAMES, RENAMED, RunMeta, plain
from evolute.store.points import point

SCHEMA = 3
READABLE = (1, 2, 3)
"""Schemas that are read; a journal that is written to is brought to the newest first."""
FILE = "journal.sqlite"
_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE decisions (number INTEGER PRIMARY KEY, state TEXT NOT NULL);
CREATE TABLE orders (member INTEGER, turn INTEGER, decision INTEGER NOT NULL, body TEXT NOT NULL,
                     PRIMARY KEY (turn, member)) WITHOUT ROWID;
CREATE INDEX orders_by_decision ON orders (decision);
CREATE TABLE reports (number INTEGER PRIMARY KEY, member INTEGER, turn INTEGER, score REAL, body TEXT NOT NULL,
                      seconds REAL NOT NULL, elapsed REAL NOT NULL, UNIQUE (turn, member));
CREATE TABLE notes (number INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL);
"""
_REQUESTS = """
CREATE TABLE IF NOT EXISTS requests (number INTEGER PRIMARY KEY, decision INTEGER NOT NULL, name TEXT NOT NULL UNIQUE,
                                     body TEXT NOT NULL, refused TEXT)
"""
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "lustre", "gpfs", "beegfs", "fuse.sshfs", "9p", "ceph", "glusterfs", "afs")


@dataclass
class Journal:
    """An open journal. `create` makes one, `write` and `read` open one that exists."""

    path: Path
    _db: sqlite3.Connection

    @classmethod
    def create(cls, folder: Path, meta: RunMeta) -> Journal:
        """A new journal in a folder, with what `meta` says of its run."""
        path = folder / FILE
        with _explained(path):
            journal = cls(path, _connect(path))
            with journal._transaction("create") as db:
                for statement in (*_TABLES.split(";"), _REQUESTS):
                    db.execute(statement)
                journal._put({"schema": SCHEMA, **meta.to_json()})
        return journal

    @classmethod
    def write(cls, folder: Path) -> Journal:
        """The journal of an existing run, to continue it."""
        path = _existing(folder)
        with _explained(path):
            journal = cls(path, _checked(path, _connect(path)))
            journal._upgrade()
            return journal

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The journal of an existing run, only to look at it: it works while another process writes."""
        path = _existing(folder)
        with _explained(path):
            return cls(path, _checked(path, _connect_readonly(path)))

    def close(self) -> None:
        self._db.close()

    def decide(self, number: int, orders: Sequence[Order], state: Json, answers: Sequence[Answer] = ()) -> None:
        """Write a decision: its orders, the strategy's state after it, and answers to the requests that it took."""
        rows = [(order.member, order.turn, number, _text(order.to_json())) for order in orders]
        with self._transaction("decide") as db:
            db.execute("INSERT INTO decisions VALUES (?, ?)", (number, _text(state)))
            db.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
            for one in answers:
                body = (one.decision, one.name, _text(one.body), one.refused)
                db.execute("INSERT INTO requests (decision, name, body, refused) VALUES (?, ?, ?, ?)", body)

    def record(self, reports: Sequence[Report], elapsed: float) -> None:
        """Write reports, `elapsed` seconds of training into the run."""
        rows = [(r.order.member, r.order.turn, r.metrics.get("score"), _text(r.to_json()), r.seconds, elapsed) for r in reports]
        with self._transaction("record") as db:
            db.executemany("INSERT INTO reports (member, turn, score, body, seconds, elapsed) VALUES (?, ?, ?, ?, ?, ?)", rows)

    def note(self, kind: str, **body: Json) -> None:
        """Write down something that happened to the run."""
        with self._transaction("note") as db:
            db.execute("INSERT INTO notes (at, kind, body) VALUES (?, ?, ?)", (time.time(), kind, _text(body)))

    def put(self, **changes: Any) -> None:
        """Set fields of what the journal says of its run."""
        if unknown := changes.keys() - NAMES:
            raise ValueError(f"a run's record has no {', '.join(sorted(unknown))}")
        with self._transaction("meta"):
            self._put({key: plain(value) for key, value in changes.items()})

    def adopt(self, other: Journal, decisions: int, *, state: Json | None = None) -> None:
        """Copy the first `decisions` decisions of another journal; `state` replaces the strategy's state after the last."""
        mine = "SELECT member, turn FROM orders WHERE decision < ?"
        with self._transaction("adopt") as db:
            for table, rows in (
                ("decisions VALUES (?, ?)", "SELECT * FROM decisions WHERE number < ? ORDER BY number"),
                ("orders VALUES (?, ?, ?, ?)", "SELECT * FROM orders WHERE decision < ?"),
                (
                    "reports VALUES (?, ?, ?, ?, ?, ?, ?)",
                    f"SELECT * FROM reports WHERE (member, turn) IN ({mine}) ORDER BY number",
                ),
            ):
                db.executemany(f"INSERT INTO {table}", other._db.execute(rows, (decisions,)))
            taken = [
                (one.decision, one.name, _text(one.body), one.refused) for one in other.answers() if one.decision < decisions
            ]
            db.executemany("INSERT INTO requests (decision, name, body, refused) VALUES (?, ?, ?, ?)", taken)
            if state is not None:
                db.execute("UPDATE decisions SET state = ? WHERE number = ?", (_text(state), decisions - 1))

    def void(self, refs: Iterable[Ref]) -> None:
        """Forget these reports, so that their orders run again."""
        with self._transaction("void") as db:
            db.executemany("DELETE FROM reports WHERE member = ? AND turn = ?", list(refs))

    def rewind(self, decisions: int, void: Sequence[Ref] = ()) -> None:
        """Forget all but the first `decisions` decisions, and of their reports those that are void."""
        with self._transaction("rewind") as db:
            gone = db.execute("SELECT member, turn FROM orders WHERE decision >= ?", (decisions,)).fetchall()
            db.executemany("DELETE FROM reports WHERE member = ? AND turn = ?", [*gone, *void])
            db.execute("DELETE FROM orders WHERE decision >= ?", (decisions,))
            db.execute("DELETE FROM decisions WHERE number >= ?", (decisions,))
            db.execute("DELETE FROM requests WHERE decision >= ?", (decisions,))

    def sync(self) -> None:
        """Bring all that was written so far to the disk itself, so that it outlives a crash of the machine too."""
        with _explained(self.path):
            before = self._db.execute("PRAGMA synchronous").fetchone()[0]
            self._db.execute("PRAGMA synchronous = FULL")
            with self._transaction("meta"):
                self._put({"synced": time.time()})
            self._db.execute(f"PRAGMA synchronous = {before}")

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Journal]:
        """Everything that is read in this block is of one moment, whoever writes meanwhile."""
        with _explained(self.path):
            self._db.execute("BEGIN")
            try:
                yield self
            finally:
                self._db.execute("COMMIT")

    def turn_count(self) -> int:
        """The number of finished turns."""
        with _explained(self.path):
            return int(self._db.execute("SELECT COUNT(*) FROM reports").fetchone()[0])

    def strategy_state(self) -> Json:
        """The strategy's state after the last decision; None if there was none."""
        with _explained(self.path):
            row = self._db.execute("SELECT state FROM decisions ORDER BY number DESC LIMIT 1").fetchone()
            return None if row is None else json.loads(row[0])

    def best_score(self) -> float | None:
        """The score of the best member's latest state, read from the latest states' lines of descent only."""
        chosen = self.meta.chosen
        with _explained(self.path):
            last = self._db.execute("SELECT member, MAX(turn) FROM reports GROUP BY member ORDER BY member").fetchall()
            rated = {Ref(member, turn): rating for member, turn, rating, _ in self.meta.ratings}
            kept = dict.fromkeys([*(Ref(*one) for one in last), *archived(self.strategy_state())])
            latest = [(ref, rated.get(ref, score)) for ref, score in map(self._latest_score, kept)]
            best = winner(latest, lambda one: one[1], lambda one: one[0] == chosen)
            return None if best is None else best[1]

    def all_failed(self) -> bool:
        """Whether the last finished turn of every member failed."""
        with _explained(self.path):
            failed = self._db.execute(
                "SELECT COUNT(*) FROM (SELECT member, MAX(turn) AS turn FROM reports GROUP BY member) last "
                "JOIN reports r USING (member, turn) WHERE json_extract(r.body, '$.error') IS NOT NULL"
            )
            return bool(failed.fetchone()[0] == self.meta.population)

    def running(self) -> list[Order]:
        """The orders that no report has come for, by member."""
        with _explained(self.path):
            rows = self._db.execute(
                "SELECT o.member, o.turn, o.body FROM (SELECT member, MAX(turn) AS turn FROM orders GROUP BY member) last "
                "JOIN orders o USING (member, turn) LEFT JOIN reports r USING (member, turn) "
                "WHERE r.number IS NULL ORDER BY member"
            )
            return [Order.from_json(member, turn, json.loads(body)) for member, turn, body in rows]

    @property
    def meta(self) -> RunMeta:
        with _explained(self.path):
            stored = {key: json.loads(value) for key, value in self._db.execute("SELECT key, value FROM meta")}
        try:
            return RunMeta.from_json(stored)
        except TypeError as error:
            raise StoreError(f"the journal {self.path} is inconsistent: {error}") from error

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, over all sessions."""
        return float(self._db.execute("SELECT COALESCE(MAX(elapsed), 0) FROM reports").fetchone()[0])

    def decisions(self) -> list[Decision]:
        """Everything that was decided and reported."""
        with _explained(self.path):
            states = list(self._db.execute("SELECT number, state FROM decisions ORDER BY number"))
            found = {number: Decision(number, [], [], json.loads(state)) for number, state in states}
            for member, turn, number, body, report, seconds in self._db.execute(
                "SELECT o.member, o.turn, o.decision, o.body, r.body, r.seconds FROM orders o "
                "LEFT JOIN reports r ON r.member = o.member AND r.turn = o.turn ORDER BY o.decision, o.member"
            ):
                order = Order.from_json(member, turn, json.loads(body))
                found[number].orders.append(order)
                if report is not None:
                    found[number].reports.append(Report.from_json(order, json.loads(report), seconds=seconds))
        return list(found.values())

    def turns(self) -> list[tuple[Json, ...]]:
        """Every finished turn as a row of plain values, in order of arrival; much quicker than `decisions`.

        Member, turn, hyper-parameters (JSON), the state continued (member, turn), reason (JSON), steps ordered and done,
        metrics with its timing (JSON), error, score, seconds of the turn, and seconds into the run. What a turn continued has
        always arrived before it.
        """
        with _explained(self.path):
            return self._db.execute(
                "SELECT r.member, r.turn, json_extract(o.body, '$.hparams'), json_extract(o.body, '$.start[0]'), "
                "json_extract(o.body, '$.start[1]'), json_extract(o.body, '$.why'), json_extract(o.body, '$.steps'), "
                "json_extract(r.body, '$.steps'), "
                "CASE WHEN json_extract(r.body, '$.timing') IS NULL THEN json_extract(r.body, '$.metrics') "
                "ELSE json_patch(json_extract(r.body, '$.metrics'), json_extract(r.body, '$.timing')) END, "
                "json_extract(r.body, '$.error'), r.score, r.seconds, r.elapsed "
                "FROM reports r JOIN orders o ON o.turn = r.turn AND o.member = r.member ORDER BY r.number"
            ).fetchall()

    def scores(self) -> list[tuple[int, float | None]]:
        """The decision and the own score of every finished turn, in order of arrival."""
        with _explained(self.path):
            return self._db.execute(
                "SELECT o.decision, r.score FROM reports r JOIN orders o USING (turn, member) ORDER BY r.number"
            ).fetchall()

    def matches(self) -> list[tuple[int, int, str]]:
        """The games of every turn that has any: member, turn, and its matches (JSON), in order of arrival."""
        with _explained(self.path):
            return self._db.execute(
                "SELECT member, turn, found FROM (SELECT number, member, turn, json_extract(body, '$.matches') AS found "
                "FROM reports) WHERE found IS NOT NULL ORDER BY number"
            ).fetchall()

    def objectives(self) -> list[tuple[str | None]]:
        """The objectives of every finished turn (JSON), None where it has none, in order of arrival."""
        with _explained(self.path):
            return self._db.execute("SELECT json_extract(body, '$.objectives') FROM reports ORDER BY number").fetchall()

    def teachers(self) -> list[tuple[int, int, int, int]]:
        """Every finished turn that had a teacher: member, turn, and the teacher's member and turn."""
        with _explained(self.path):
            return self._db.execute(
                "SELECT o.member, o.turn, json_extract(o.body, '$.teacher[0]'), json_extract(o.body, '$.teacher[1]') "
                "FROM orders o JOIN reports r ON o.turn = r.turn AND o.member = r.member "
                "WHERE o.body LIKE '%\"teacher\":[%' AND json_extract(o.body, '$.teacher') IS NOT NULL ORDER BY r.number"
            ).fetchall()

    def pools(self, most: int) -> list[tuple[int, str]]:
        """The past states that were kept as opponents (JSON), after `most` decisions or a few more, spread over the run.

        Each comes with the turn that was decided on.
        """
        with _explained(self.path):
            last = self._db.execute("SELECT MAX(number) FROM decisions").fetchone()[0]
            return self._db.execute(
                "SELECT (SELECT MAX(turn) FROM orders WHERE decision = number), json_extract(state, '$.pool') AS pool "
                "FROM decisions WHERE (number % ? = 0 OR number = ?) AND pool IS NOT NULL ORDER BY number",
                (max(1, (last or 0) // most), last),
            ).fetchall()

    def notes(self) -> list[tuple[float, str, Json]]:
        """What happened to the run: time, kind and details, oldest first."""
        rows = self._db.execute("SELECT at, kind, body FROM notes ORDER BY number")
        return [(at, kind, json.loads(body)) for at, kind, body in rows]

    def answers(self) -> list[Answer]:
        """The requests that decisions have taken or refused, oldest first; journals of older schemas have none."""
        with _explained(self.path):
            if not self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'requests'").fetchone():
                return []
            rows = self._db.execute("SELECT decision, name, body, refused FROM requests ORDER BY number")
            return [Answer(decision, name, json.loads(body), refused) for decision, name, body, refused in rows]

    def canonical(self) -> str:
        """Orders, reports, strategy states and requests as text that is equal for equal runs: no times, no process ids."""
        lines: list[Json] = []
        answers = self.answers()
        for decision in self.decisions():
            lines.append(["decision", decision.number, decision.state])
            lines += [["request", one.body, one.refused] for one in answers if one.decision == decision.number]
            lines += [["order", *order.ref, order.to_json()] for order in decision.orders]
            for report in decision.reports:
                error = {"error": report.reason} if report.failed else {}
                lines.append(["report", *report.order.ref, {**report.canonical.to_json(), **error}])
        return "".join(_text(line) + "\n" for line in lines)

    def _latest_score(self, last: Ref) -> tuple[Ref, float | None]:
        """A member's last turn that left a state, and its score, which may be that of a turn it descends from."""
        own, failed, start = self._outcome(last)
        while failed and last.turn > 0:
            last = Ref(last.member, last.turn - 1)
            own, failed, start = self._outcome(last)
        line = [(own, failed)]
        while own is None and start is not None:
            own, failed, start = self._outcome(start)
            line.append((own, failed))
        return last, score_along(reversed(line))

    def _outcome(self, ref: Ref) -> tuple[float | None, bool, Ref | None]:
        """A finished turn's own score or rating, whether it failed, and the state it continued."""
        row = self._db.execute(
            "SELECT COALESCE((SELECT json_extract(n.body, '$.why.rating[0]') FROM orders n "
            "WHERE n.turn = r.turn + 1 AND n.member = r.member), r.score), json_extract(r.body, '$.error') IS NOT NULL, "
            "json_extract(o.body, '$.start[0]'), json_extract(o.body, '$.start[1]') "
            "FROM reports r JOIN orders o USING (turn, member) WHERE r.turn = ? AND r.member = ?",
            (ref.turn, ref.member),
        ).fetchone()
        if row is None:
            raise StoreError(f"the journal {self.path} is inconsistent: {ref} is missing")
        score, failed, member, turn = row
        return score, bool(failed), None if member is None else Ref(member, turn)

    def _put(self, meta: dict[str, Json]) -> None:
        rows = [(key, _text(value)) for key, value in meta.items()]
        self._db.executemany("INSERT INTO meta VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", rows)

    def _upgrade(self) -> None:
        """Bring a journal of an older schema to the newest one."""
        if json.loads(self._db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()[0]) == SCHEMA:
            return
        with self._transaction("upgrade") as db:
            db.executemany("UPDATE meta SET key = ? WHERE key = ?", [(new, old) for old, new in RENAMED.items()])
            db.execute(_REQUESTS)
            self._put({"schema": SCHEMA})

    @contextlib.contextmanager
    def _transaction(self, name: str) -> Iterator[sqlite3.Connection]:
        with _explained(self.path):
            point(f"journal.{name}.begin")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                point(f"journal.{name}.filled")
                self._db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            point(f"journal.{name}.done")


def _connect(path: Path) -> sqlite3.Connection:
    """A connection for the leader. A crash of the machine may lose the last transactions, never part of one."""
    db = sqlite3.connect(path, isolation_level=None, timeout=30)
    if _on_network(path):
        db.execute("PRAGMA journal_mode = DELETE")
    else:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA wal_autocheckpoint = 4000")
    return db


def _connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing.

    Where SQLite cannot make its side files, the folder being read-only, it needs none if nothing waits in its log.
    """
    db = _open_uri(path, "mode=ro")
    try:
        db.execute("SELECT * FROM sqlite_master").fetchall()
    except sqlite3.OperationalError:
        db.close()
        log = path.with_name(f"{path.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise
        return _open_uri(path, "immutable=1")
    except sqlite3.DatabaseError:
        pass  # not a database at all, which `_checked` reports
    return db


def _open_uri(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True, isolation_level=None, timeout=30)


def _existing(folder: Path) -> Path:
    if not (folder / FILE).is_file():
        raise StoreError(f"{folder} is not a run: it has no {FILE}; `evolute ls` lists the runs there are")
    return folder / FILE


def _checked(path: Path, db: sqlite3.Connection) -> sqlite3.Connection:
    try:
        row = db.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is not a journal of Evolute, or is damaged: {error}") from error
    if row is None or json.loads(row[0]) not in READABLE:
        found = "none" if row is None else row[0]
        raise StoreError(
            f"{path} has schema version {found}, and this Evolute reads versions {READABLE[0]} to {SCHEMA}: "
            "use the Evolute that wrote it"
        )
    return db


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into a sentence."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(f"cannot use the journal {path}: {error}") from error


_text = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _on_network(path: Path, mounts: Path = Path("/proc/self/mounts")) -> bool:
    """Whether the file lies on a network file system, where SQLite's write-ahead log does not work."""
    if not mounts.is_file():
        return False
    entries = [line.split()[1:3] for line in mounts.read_text().splitlines()]
    under = [(point, kind) for point, kind in entries if path.resolve().is_relative_to(point)]
    return bool(under) and max(under, key=lambda entry: len(entry[0]))[1] in _NETWORK
