"""The end of a run, and any run afterwards, on a terminal or in plain text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evolute.core.order import Json
from evolute.report import formats
from evolute.report.columns import Column, drawn, fitted, hidden_line
from evolute.report.data.front import front_text
from evolute.report.data.generations import generation_lines
from evolute.report.data.proposals import proposal_lines
from evolute.report.data.requests import request_lines
from evolute.report.data.start import start_lines
from evolute.runs.commands import typed
from evolute.runs.rated import rating_text

UNLIMITED = 10_000
"""A width that no table has."""
SHORT = 8
COLOURS = {"finished": "green", "running": "cyan", "unfinished": "yellow"}
"""The states of a run; all others are bad news, in red."""


def summary(data: dict[str, Json]) -> RenderableType:
    """What a person wants to know when a run ends."""
    agent: Iterable[RenderableType] = [front_table(data)] if data["front"] else _agent("best", data["best"], short=True)
    rated = [ratings_table(data["ratings"])] if data["ratings"]["members"] else []
    return Group(_headline(data), *agent, *rated, *_incidents(data), *_hints(data), _commands(data))


def full_summary(data: dict[str, Json], traceback: str | None) -> RenderableType:
    """Everything: the population, the schedule and descent of the best or of the member asked for."""
    asked: Iterable[RenderableType] = _agent("member", data["member"], short=False) if "member" in data else ()
    if "member" not in data:
        asked = [front_table(data)] if data["front"] else _agent("best", data["best"], short=False)
    failure = [Text(""), Text("first failure:", style="red"), Text(traceback.strip())] if traceback else []
    notes = [Text(f"note: {note.get('text') or note['kind']}", style="yellow") for note in data["notes"]]
    begun = (*start_lines(data["start"]), *generation_lines(data["generations"]))
    told = (*begun, *proposal_lines(data["proposals"]), *request_lines(data["requests"]))
    reasons = [Text(line) for line in told]
    rest = (*_incidents(data), *_hints(data), *notes, *failure, _commands(data))
    return Group(_headline(data), members_table(data), *asked, *reasons, *rest)


def ratings_table(data: dict[str, Json]) -> RenderableType:
    """How the members of a game are rated, and how sure the first place is."""
    guests = {row["name"] for row in data["guests"]}
    bots = sorted({bot for row in data["members"] for bot in row["bots"]} - guests)
    table = Table(box=None, pad_edge=False, header_style="bold")
    by_gain = data["rule"] == "panel"
    for column in ("member", "mean return" if by_gain else "rating", *(f"beats {bot}" for bot in bots)):
        table.add_column(column, justify="right", no_wrap=True)
    for row in data["members"]:
        shares = [f"{row['bots'][bot]:.0%}" if bot in row["bots"] else "–" for bot in bots]
        table.add_row(str(row["member"]), rating_text(row["rating"], row["deviation"], by_gain=by_gain), *shares)
    for row in data["guests"]:
        known = row["rating"] is not None
        text = (
            rating_text(row["rating"], row["deviation"], by_gain=by_gain) if known else f"not rated{'' if by_gain else ' yet'}"
        )
        table.add_row(f"guest {row['name']}", text, *["–"] * len(bots))
    return Group(table, Text(data["sentence"])) if data["sentence"] else table


def front_table(data: dict[str, Json]) -> RenderableType:
    """The front of a run with several objectives, one row for each that is on it."""
    rows = data["front"]
    title = front_text(data["objectives"], [row["objectives"] for row in rows])
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("member", "turn", *data["objectives"], *data["space"]):
        table.add_column(Text(column), justify="right", no_wrap=True)
    for row in rows:
        reached = map(formats.number, row["objectives"])
        values = [formats.number(row["hparams"].get(name)) for name in data["space"]]
        table.add_row(str(row["member"]), str(row["turn"]), *reached, *map(Text, values))
    return Group(Text(title, style="green"), table)


def members_table(data: dict[str, Json]) -> Table:
    """One row per member."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    compared = data["objectives"] or ["score"]
    for column in ("member", *compared, "turns", "weights", *data["space"]):
        table.add_column(Text(column), justify="right" if column != "weights" else "left", no_wrap=True)
    best = [row["member"] for row in data["front"] if row["latest"]] or [data["best"] and data["best"]["member"]]
    for row in data["members"]:
        values = [Text(formats.number(row["hparams"].get(name))) for name in data["space"]]
        weights = Text(f"failed: {row['error']}", style="red") if row["failed"] else Text(row["weights"])
        style = "bold green" if row["member"] in best else ""
        reached = (row["objectives"] or [None] * len(compared)) if data["objectives"] else [row["score"]]
        table.add_row(str(row["member"]), *map(formats.number, reached), str(row["turns"]), weights, *values, style=style)
    return table


def print_runs(rows: Sequence[Mapping[str, Any]]) -> None:
    """The runs of a folder; on a terminal that is too narrow for all columns, those that fit."""
    console = Console()
    width = console.width if console.is_terminal else UNLIMITED
    columns, hidden = fitted(_run_columns(rows), width)
    printed(drawn(columns, width, row_styles=[""] * len(rows)))
    if hidden:
        printed(Text(hidden_line(hidden), style="dim"))


def _run_columns(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    named = [
        Column(name, [formats.number(row.get(name)) for row in rows], left=True) for name in ("env", "learner", "strategy")
    ]
    return [
        Column("run", [row["run"] for row in rows], left=True, needed=True),
        Column(
            "state",
            [row["status"] for row in rows],
            left=True,
            needed=True,
            styles=[COLOURS.get(row["status"], "red") for row in rows],
        ),
        Column("best", [formats.number(row["score"]) for row in rows], needed=True),
        *named,
        Column("turns", [f"{row['turns']:,}" for row in rows]),
        Column("age", [formats.age(row["age"]) for row in rows], needed=True),
        Column("size", [formats.size(row["size"]) for row in rows]),
    ]


def printed(shown: RenderableType) -> None:
    """Print without breaking lines that are longer than the terminal, such as commands, and without cutting tables."""
    Console(width=UNLIMITED).print(shown, soft_wrap=True)


def _headline(data: dict[str, Json]) -> Text:
    state = data["ended"] or data["status"]
    speed = f", {formats.rate(data['turns'] / data['seconds'])} turns/s" if data["seconds"] > 0 else ""
    return Text(
        f"{data['learner']} with {data['strategy']}: {state}; {formats.count(data['turns'], 'turn')} of "
        f"{formats.count(len(data['members']), 'member')} in {formats.seconds(data['seconds'])}{speed}",
        style="bold",
    )


def _agent(title: str, data: dict[str, Json] | None, *, short: bool) -> Iterator[RenderableType]:
    if data is None:
        yield Text("no member has a score yet")
        return
    yield Text(
        f"{title}: member {data['member']}, score {formats.number(data['score'])}, after {data['steps']:,} steps of its line",
        style="green",
    )
    yield from (Text(f"  {sentence}", style="green") for sentence in data.get("evaluated", ()))
    yield Text(f"  now: {formats.hparams(data['hparams'])}")
    yield Text("  schedule along its line of descent (turns, hyper-parameters, score then):")
    yield from _shortened([_part(part) for part in data["schedule"]], short=short)
    steps = [f"{part['member']} (turn{'s' * (part['to'] > part['from'])} {_span(part)})" for part in data["lineage"]]
    if short and len(steps) > SHORT:
        steps = [*steps[: SHORT // 2], f"… {len(steps) - SHORT} more …", *steps[-SHORT // 2 :]]
    yield Text(f"  line of descent, by member: {' → '.join(steps)}")


def _span(part: dict[str, Json]) -> str:
    return str(part["from"]) if part["from"] == part["to"] else f"{part['from']}–{part['to']}"


def _part(part: dict[str, Json]) -> str:
    return f"    {_span(part):>11}  {formats.hparams(part['hparams'])}  → {formats.number(part['score'])}"


def _shortened(lines: list[str], *, short: bool) -> Iterator[Text]:
    if short and len(lines) > SHORT:
        lines = [*lines[: SHORT // 2], f"          … {len(lines) - SHORT} more changes …", *lines[-SHORT // 2 :]]
    yield from (Text(line) for line in lines)


def _incidents(data: dict[str, Json]) -> Iterator[Text]:
    kept = f"; the archive has {formats.count(len(data['archive']), 'state')}" if data["archive"] else ""
    if data["archive"] and data["generations"]:
        kept = "; the last generation was not finished, so its teacher still counts among the best"
    yield Text(f"inherited {formats.count(data['inherited'], 'time')}{kept}")
    if most := data["ratings"]["pool_at_most"]:
        yield Text(f"opponents from the past: {formats.count(data['ratings']['pool'], 'state')} of at most {most}")
    if data["failed"]:
        text = (
            f"{formats.count(data['failed'], 'turn')} failed; {formats.count(data['rescued'], 'member')} replaced from a donor"
        )
        yield Text(f"{text} (`{typed('show', data['run'])}` has the first traceback)", style="yellow")
    if data["workers_lost"]:
        yield Text(f"{formats.count(data['workers_lost'], 'worker')} died, each replaced by another", style="yellow")


def _hints(data: dict[str, Json]) -> Iterator[Text]:
    yield from (Text(f"hint: {hint}", style="yellow") for hint in data["hints"])


def _commands(data: dict[str, Json]) -> Text:
    disk = data["disk"]
    bound = f" of at most {formats.size(disk['checkpoints_at_most'])}" if disk["checkpoints_at_most"] else ""
    more = "" if data["status"] != "finished" else f" -m {data['longer']}"
    return Text(
        f"run:    {data['run']}  ({formats.size(disk['total'])}; checkpoints {formats.size(disk['checkpoints'])}{bound})\n"
        f"show:   {typed('show', data['run'])}\n"
        f"resume: {typed('resume', data['run'])}{more}",
        style="cyan",
    )
