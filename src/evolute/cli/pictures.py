"""The commands that show runs in pictures: `plot` and `report`."""

from __future__ import annotations

from pathlib import Path

from evolute.config.error import ConfigError
from evolute.report import formats
from evolute.report.data.hints import hints
from evolute.report.figures.all import charts
from evolute.runs.turns import TurnTable
from evolute.store.error import StoreError

FORMATS = ("png", "svg", "pdf")


def plot(folder: Path, path: Path | None, *, kind: str | None, only: list[str], dark: bool) -> None:
    """The command `plot`."""
    table = _filled(folder)
    path = path or Path(f"{table.name}.{kind or 'png'}")
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ConfigError(f"{path}: a picture is a .png, .svg or .pdf file")
    if kind is not None and path.suffix != f".{kind}":
        raise ConfigError(f"{path} and --format {kind} do not agree")
    found = charts(table)
    if unknown := sorted(set(only) - {chart.key for chart in found}):
        raise ConfigError(f"no picture is called {', '.join(unknown)}: there are {', '.join(chart.key for chart in found)}")
    from evolute.report import draw

    draw.write([chart for chart in found if not only or chart.key in only], table.name, path, dark=dark)
    _told(path, table)


def report(folder: Path, path: Path | None) -> None:
    """The command `report`."""
    from evolute.report import html

    table = _filled(folder)
    path = path or Path(f"{table.name}.html")
    write(path, html.report(table))
    _told(path, table)


def write(path: Path, text: str) -> None:
    """Write a file, which appears whole or not at all."""
    draft = path.with_name(f".{path.name}.tmp")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror}") from error


def _filled(folder: Path) -> TurnTable:
    table = TurnTable.read(folder)
    if not len(table):
        raise StoreError(f"{folder} has no finished turn yet: there is nothing to show")
    return table


def _told(path: Path, table: TurnTable) -> None:
    print(f"wrote {path} ({formats.size(path.stat().st_size)}): {len(table):,} turns of {table.size} members")
    for hint in hints(table):
        print(f"hint: {hint}")
