"""The command `compare`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.table import Table as Grid
from rich.text import Text

from evolute.config.error import ConfigError
from evolute.core.order import Json
from evolute.report import formats
from evolute.report.data.compare import charts, comparison, distinct
from evolute.report.summary import printed
from evolute.runs.turns import TurnTable

PLOT = Path("comparison.png")


def compare(folders: Sequence[Path], path: Path | None, *, as_json: bool) -> None:
    """Print a table of runs of the same task, and draw a plot: `PLOT` by default, none for an empty path."""
    if len(set(folders)) < 2:
        raise ConfigError("compare needs at least two different runs")
    tables = [TurnTable.read(folder) for folder in folders]
    kept, left_out = distinct(tables)
    if len(kept) < 2:
        raise ConfigError(
            f"{', '.join([*left_out, str(kept[0].folder)])} have the same config and seed, so they are one sample: train "
            "runs with other seeds (-m seed=1)"
        )
    result = comparison(tables)
    if as_json:
        print(json.dumps(result))
    else:
        _show(result)
    if path is None or path.name:
        _draw(tables, path, as_json=as_json)


def _draw(tables: Sequence[TurnTable], path: Path | None, *, as_json: bool) -> None:
    """The plot; if nobody asked for it, it is left out where it cannot be drawn."""
    try:
        from evolute.report import draw
    except ConfigError as error:
        if path is not None:
            raise
        print(f"no plot: {error}", file=sys.stderr)
        return
    path = path or PLOT
    draw.write(charts(tables), "comparison", path)
    if not as_json:
        print(f"wrote {path}")


def _show(result: dict[str, Json]) -> None:
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for column in ("arm", "runs", "interquartile mean", "95 % interval", "mean"):
        grid.add_column(column, justify="left" if column == "arm" else "right", no_wrap=True)
    for arm in result["arms"]:
        middle = arm["iqm"]
        figures = [formats.number(middle["value"]), _interval(middle), formats.number(arm["mean"])]
        grid.add_row(Text(arm["name"]), str(len(arm["runs"])), *figures)
    printed(grid)
    runs = {arm["name"]: len(arm["runs"]) for arm in result["arms"]}
    for pair in result["pairs"]:
        if runs[pair["one"]] == runs[pair["other"]] == 1:
            continue
        probability = pair["better"]
        interval = "" if probability["low"] is None else f" ({probability['low']:.0%} to {probability['high']:.0%})"
        which = f"a run of {pair['one']} ends better than one of {pair['other']}"
        printed(Text(f"{which} with probability {probability['value']:.0%}{interval}"))
    if result["note"]:
        print(result["note"])


def _interval(estimate: dict[str, Json]) -> str:
    if estimate["low"] is None:
        return "–"
    return f"{formats.number(estimate['low'])} to {formats.number(estimate['high'])}"
