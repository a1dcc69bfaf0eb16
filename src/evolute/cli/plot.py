"""The command `plot`."""

from __future__ import annotations

from pathlib import Path

from evolute.cli.report import announce, finished_turns
from evolute.config.error import ConfigError
from evolute.report.figures.all import charts

FORMATS = ("png", "svg", "pdf")


def plot(folder: Path, path: Path | None, *, kind: str | None, only: list[str], dark: bool) -> None:
    """Draw a run's plots into one file."""
    table = finished_turns(folder)
    path = path or Path(f"{table.name}.{kind or 'png'}")
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ConfigError(f"{path}: a plot is a .png, .svg or .pdf file")
    if kind is not None and path.suffix != f".{kind}":
        raise ConfigError(f"{path} and --format {kind} do not agree")
    drawn = charts(table)
    if unknown := sorted(set(only) - {chart.key for chart in drawn}):
        raise ConfigError(f"no plot is called {', '.join(unknown)}; there are {', '.join(chart.key for chart in drawn)}")
    from evolute.report import draw

    draw.write([chart for chart in drawn if not only or chart.key in only], table.name, path, dark=dark)
    announce(path, table)
