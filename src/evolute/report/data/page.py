"""A run as a page shows it: what it is, who is best, what it took, hints, members, the best schedule and all plots."""

from __future__ import annotations

from evolute.core.order import Json
from evolute.report import formats
from evolute.report.data.evaluation import evaluation_data
from evolute.report.data.front import front_text
from evolute.report.data.generations import compiling, spent
from evolute.report.data.hints import hints
from evolute.report.data.members import table_row
from evolute.report.data.plain import plain
from evolute.report.data.requests import request_lines, request_rows
from evolute.report.figures.all import sections
from evolute.report.figures.chart import short, to_json
from evolute.report.figures.downsample import every, stride
from evolute.report.figures.speed import totals
from evolute.runs import folders
from evolute.runs.turns import TurnTable

SCHEDULE = 500
"""How many turns of the best schedule a page lists."""


def page_data(table: TurnTable) -> dict[str, Json]:
    """Everything a page shows of one run, as JSON."""
    best = table.best
    return {
        "name": table.name,
        "status": table.status,
        "learner": str(table.meta.learner),
        "strategy": str(table.meta.strategy),
        "env": table.meta.identity.get("env"),
        "best": None if best is None else {"member": int(table.member[best]), "score": short(float(table.score[best]))},
        "objectives": list(table.meta.objectives),
        "front": [int(table.member[row]) for row in table.front if table.latest.get(int(table.member[row])) == row],
        "front_text": _front_text(table),
        **evaluation_data(table.meta, None if best is None else table.ref(best)),
        "hparams": list(table.space),
        "hints": hints(table),
        "facts": facts(table),
        "members": [_member(table, slot) for slot in range(table.size)],
        "schedule": _schedule(table),
        "requests": list(request_lines(request_rows(table.folder, table.answers))),
        "notes": [f"{body.get('text') or kind}" for _, kind, body in table.notes],
        "charts": [{**to_json(chart), "section": title} for title, group in sections(table).items() for chart in group],
    }


def facts(table: TurnTable) -> list[list[str]]:
    """What the run took, in words."""
    found = totals(table)
    return [
        *([["the run", table.meta.ended]] if table.meta.ended is not None else []),
        ["members", f"{table.size:,}"],
        ["turns", f"{found['turns']:,.0f}"],
        ["environment steps", f"{found['steps']:,.0f}"],
        ["wall clock", formats.seconds(found["elapsed"])],
        ["steps per second", f"{found['speed']:,.0f}"],
        ["member time", formats.seconds(found["training"])],
        ["inherited", f"{found['inherited']:,.0f}"],
        *_of_generations(table),
        ["failed turns", f"{found['failed']:,.0f}"],
        ["rescued members", f"{found['rescued']:,.0f}"],
        ["disk", formats.size(folders.size(table.folder))],
    ]


def _of_generations(table: TurnTable) -> list[list[str]]:
    """What new generations took; nothing in a run without any."""
    if not spent(table):
        return []
    return [["turns to found generations", f"{spent(table):,}"], ["compiling, about", formats.seconds(compiling(table))]]


def _member(table: TurnTable, slot: int) -> dict[str, Json]:
    row = table_row(table, slot)
    return {
        "member": slot,
        "score": None if row["score"] is None else short(row["score"]),
        "objectives": [None if value is None else short(value) for value in row["objectives"]]
        or [None] * len(table.meta.objectives),
        "turns": row["turns"],
        "steps": row["steps"],
        "weights": f"failed: {row['error']}" if row["failed"] else row["weights"],
        "values": [plain(row["hparams"].get(name)) for name in table.space],
    }


def _front_text(table: TurnTable) -> str:
    points = table.objectives[table.front].tolist() if table.front else []
    return front_text(table.meta.objectives, points) if table.meta.objectives else ""


def _schedule(table: TurnTable) -> list[list[Json]]:
    places = every(range(len(table.best_line)), stride(len(table.best_line), SCHEDULE))
    rows = [(int(place), table.best_line[int(place)]) for place in places]
    return [
        [place, short(float(table.score[row])), *(plain(table.hparams[row].get(name)) for name in table.space)]
        for place, row in rows
    ]
