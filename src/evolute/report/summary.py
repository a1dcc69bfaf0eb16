"""The end of a run, and any run afterwards, on a terminal or in plain text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from evolute.core.order import Json
from evolute.report import words
from evolute.report.proposals import reasoned
from evolute.runs.commands import typed

SHORT = 8


def summary(told: dict[str, Json]) -> RenderableType:
    """What a person wants to know when a run ends."""
    return Group(_headline(told), *_agent("best", told["best"], short=True), *_incidents(told), _whereabouts(told))


def full(told: dict[str, Json], traceback: str | None) -> RenderableType:
    """Everything: the population, the schedule and descent of the best or of the member asked for."""
    asked = _agent("member", told["member"], short=False) if "member" in told else _agent("best", told["best"], short=False)
    failure = [Text(""), Text("first failure:", style="red"), Text(traceback.strip())] if traceback else []
    notes = [Text(f"note: {note.get('text') or note['kind']}", style="yellow") for note in told["notes"]]
    reasons = [Text(line) for line in reasoned(told["proposals"])]
    advice = [Text(f"hint: {hint}", style="yellow") for hint in told.get("hints", ())]
    rest = (*_incidents(told), *advice, *notes, *failure, _whereabouts(told))
    return Group(_headline(told), population(told), *asked, *reasons, *rest)


def population(told: dict[str, Json]) -> Table:
    """One row per member."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("member", "score", "turns", "weights", *told["space"]):
        table.add_column(Text(column), justify="right" if column != "weights" else "left", no_wrap=True)
    best = told["best"] and told["best"]["member"]
    for row in told["members"]:
        values = [Text(words.number(row["hparams"].get(name))) for name in told["space"]]
        weights = Text(f"failed: {row['error']}", style="red") if row["failed"] else Text(row["weights"])
        style = "bold green" if row["member"] == best else ""
        table.add_row(str(row["member"]), words.number(row["score"]), str(row["turns"]), weights, *values, style=style)
    return table


def listing(rows: list[dict[str, Any]]) -> Table:
    """The runs of a folder."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("run", "state", "best score", "turns", "age", "size"):
        table.add_column(column, justify="left" if column in ("run", "state") else "right", no_wrap=True)
    colours = {"finished": "green", "running": "cyan", "unfinished": "yellow"}
    for row in rows:
        state = Text(row["status"], style=colours.get(row["status"], "red"))
        best = words.number(row["score"])
        table.add_row(Text(row["run"]), state, best, f"{row['turns']:,}", words.seconds(row["age"]), words.size(row["size"]))
    return table


def printed(shown: RenderableType, console: Console | None = None) -> None:
    """Print without breaking lines that are longer than the terminal, such as paths and commands."""
    (console or Console()).print(shown, soft_wrap=True)


def _headline(told: dict[str, Json]) -> Text:
    state = told["ended"] or told["status"]
    speed = f", {words.rate(told['turns'] / told['seconds'])} turns/s" if told["seconds"] > 0 else ""
    return Text(
        f"{told['learner']} with {told['strategy']}: {state}; {words.count(told['turns'], 'turn')} of "
        f"{words.count(len(told['members']), 'member')} in {words.seconds(told['seconds'])}{speed}",
        style="bold",
    )


def _agent(title: str, told: dict[str, Json] | None, *, short: bool) -> Iterator[RenderableType]:
    if told is None:
        yield Text("no member has a score yet")
        return
    yield Text(
        f"{title}: member {told['member']}, score {words.number(told['score'])}, after {told['steps']:,} steps of its line",
        style="green",
    )
    if again := told.get("evaluation"):
        mean, deviation = words.number(again["mean"]), words.number(again["deviation"])
        yield Text(f"  measured again: {mean} ± {deviation} over {again['episodes']} fresh episodes", style="green")
    yield Text(f"  now: {words.hparams(told['hparams'])}")
    yield Text("  schedule along its line of descent (turns, hyper-parameters, score then):")
    yield from _shortened([_part(part) for part in told["schedule"]], short=short)
    steps = [f"{part['member']} (turn{'s' * (part['to'] > part['from'])} {_span(part)})" for part in told["lineage"]]
    if short and len(steps) > SHORT:
        steps = [*steps[: SHORT // 2], f"… {len(steps) - SHORT} more …", *steps[-SHORT // 2 :]]
    yield Text(f"  line of descent, by member: {' → '.join(steps)}")


def _span(part: dict[str, Json]) -> str:
    return str(part["from"]) if part["from"] == part["to"] else f"{part['from']}–{part['to']}"


def _part(part: dict[str, Json]) -> str:
    return f"    {_span(part):>11}  {words.hparams(part['hparams'])}  → {words.number(part['score'])}"


def _shortened(lines: list[str], *, short: bool) -> Iterator[Text]:
    if short and len(lines) > SHORT:
        lines = [*lines[: SHORT // 2], f"          … {len(lines) - SHORT} more changes …", *lines[-SHORT // 2 :]]
    yield from (Text(line) for line in lines)


def _incidents(told: dict[str, Json]) -> Iterator[Text]:
    yield Text(f"inherited {told['inherited']:,} times")
    if told["failed"]:
        text = f"{words.count(told['failed'], 'turn')} failed; {words.count(told['rescued'], 'member')} replaced from a donor"
        yield Text(f"{text} (`{typed('show', told['run'])}` has the first traceback)", style="yellow")
    if told["workers_lost"]:
        yield Text(f"{words.count(told['workers_lost'], 'worker')} died, each replaced by another", style="yellow")


def _whereabouts(told: dict[str, Json]) -> Text:
    disk = told["disk"]
    bound = f" of at most {words.size(disk['checkpoints_at_most'])}" if disk["checkpoints_at_most"] else ""
    more = "" if told["status"] != "finished" else f" -m {told['longer']}"
    return Text(
        f"run:    {told['run']}  ({words.size(disk['total'])}; checkpoints {words.size(disk['checkpoints'])}{bound})\n"
        f"show:   {typed('show', told['run'])}\n"
        f"go on:  {typed('resume', told['run'])}{more}",
        style="cyan",
    )
