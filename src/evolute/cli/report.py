"""The command `report`, and what it shares with `plot`."""

from __future__ import annotations

from pathlib import Path

from evolute.cli.files import write
from evolute.report import formats
from evolute.report.data.hints import hints
from evolute.runs.turns import TurnTable
from evolute.store.error import StoreError


def report(folder: Path, path: Path | None) -> None:
    """Write a run's plots and tables into one HTML file."""
    from evolute.report import html

    table = finished_turns(folder)
    path = path or Path(f"{table.name}.html")
    write(path, html.report(table))
    announce(path, table)
    print(f"open it in a browser: {path.resolve().as_uri()}")


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
