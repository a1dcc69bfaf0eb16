"""The command `report`, and what it shares with `plot`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from evolute.cli.files import write
from evolute.report import formats
from evolute.report.data.hints import hints
from evolute.runs.turns import TurnTable
from evolute.store.error import StoreError

FRAMES = 1000
"""The longest video in a report."""


def report(folder: Path, path: Path | None, *, video: bool = False) -> None:
    """Write a run's plots and tables into one HTML file, with videos of those that were evaluated if asked to."""
    from evolute.report import html

    table = finished_turns(folder)
    path = path or Path(f"{table.name}.html")
    write(path, html.report(table, _videos(table) if video else None))
    announce(path, table)
    print(f"open it in a browser: {path.resolve().as_uri()}")


def _videos(table: TurnTable) -> dict[int, bytes]:
    """An episode of the best member, of both ends of a front, and of each other that was evaluated after the run, as GIFs."""
    from evolute.api import load
    from evolute.runs.video import record

    run = load(table.folder)
    others = [run.member(one.member) for one in table.meta.evaluations]
    agents = {agent.member: agent for agent in reversed([run.best, *run.front[:1], *run.front[-1:], *others])}
    videos = {}
    with tempfile.TemporaryDirectory(prefix="evolute-") as scratch:
        for slot, agent in agents.items():
            path = Path(scratch) / f"{slot}.gif"
            record(agent, path, seed=1, greedy=agent.greedy, limit=FRAMES)
            videos[slot] = path.read_bytes()
    return videos


def finished_turns(folder: Path) -> TurnTable:
    """The turns of a run that has some."""
    table = TurnTable.read(folder)
    if not len(table):
        raise StoreError(f"{folder} has no finished turn yet: there is nothing to show")
    return table


def announce(path: Path, table: TurnTable) -> None:
    """Say what was written, with hints about the run."""
    print(f"wrote {path} ({formats.size(path.stat().st_size)}): {len(table):,} turns of {table.size} members")
    for hint in hints(table):
        print(f"hint: {hint}")
