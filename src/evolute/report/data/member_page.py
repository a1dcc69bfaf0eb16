"""One member as a page shows it: what it is now, its curves, its hyper-parameters along its line, and that line."""

from __future__ import annotations

from evolute.core.order import Json
from evolute.report.data.members import table_row
from evolute.report.data.plain import plain
from evolute.report.figures import actors, member, metrics
from evolute.report.figures.chart import BUDGET, short, to_json
from evolute.report.figures.downsample import every, stride
from evolute.report.formats import number
from evolute.runs.turns import TurnTable
from evolute.store.evaluation import WAYS

ROWS = 200
"""How many turns of its schedule a page lists."""
FEWEST = 50
"""Points that a picture of a member has at least."""


def member_page(table: TurnTable, slot: int) -> dict[str, Json]:
    """Everything a page shows of one member, as JSON."""
    row = table_row(table, slot)
    pictures = table.size * (1 + len(table.space) + len(metrics.drawn(table)) + len(actors.names(table)))
    return {
        "member": slot,
        "best": table.best is not None and int(table.member[table.best]) == slot,
        "score": None if row["score"] is None else short(row["score"]),
        "facts": [
            ["turns", f"{row['turns']:,}"],
            ["steps", f"{row['steps']:,}"],
            ["weights", f"failed: {row['error']}" if row["failed"] else row["weights"]],
            *([name, str(plain(row["hparams"].get(name)))] for name in table.space),
        ],
        "evaluated": _evaluated(table, slot),
        "descent": _descent(table, slot),
        "hparams": list(table.space),
        "schedule": _schedule(table, slot),
        "charts": [to_json(chart) for chart in member.charts(table, slot, max(FEWEST, BUDGET // max(1, pictures)))],
    }


def _evaluated(table: TurnTable, slot: int) -> list[str]:
    row = table.latest.get(slot)
    found = [] if row is None else [one for one in table.meta.evaluations if one.ref == table.ref(row)]
    return [
        f"{number(one.mean)} ± {number(one.deviation)} over {one.episodes} fresh episodes {WAYS[one.greedy]}" for one in found
    ]


def _line(table: TurnTable, slot: int) -> list[int]:
    row = table.latest.get(slot)
    return [] if row is None else table.ancestry(row)


def _descent(table: TurnTable, slot: int) -> str:
    """The members that its line went through, from fresh weights on."""
    slots = [int(table.member[row]) for row in _line(table, slot)]
    return " → ".join(str(one) for place, one in enumerate(slots) if place == 0 or slots[place - 1] != one)


def _schedule(table: TurnTable, slot: int) -> list[list[Json]]:
    line = _line(table, slot)
    places = every(range(len(line)), stride(len(line), ROWS))
    rows = [(int(place), line[int(place)]) for place in places]
    return [
        [
            place,
            int(table.member[row]),
            short(float(table.score[row])),
            *(plain(table.hparams[row].get(name)) for name in table.space),
        ]
        for place, row in rows
    ]
