"""Generations of new architectures: what was tried and what the model expected, and how students climbed their rungs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evolute.core.amounts import named, number
from evolute.core.order import Json
from evolute.report import formats
from evolute.report.data.generations import Founded, architecture_text, architectures, founded, generation_data, generation_of
from evolute.report.figures.chart import Axis, Chart, Role, Series
from evolute.report.figures.curves import score_label
from evolute.runs.turns import FRESH, Numbers, TurnTable

SHOWN = 12
"""At most this many architectures stand in the plot of those that were tried."""


def charts(table: TurnTable) -> list[Chart]:
    """The plots of a run with generations; none for others."""
    stories = founded(table)
    if not stories:
        return []
    return [*(_climb(one) for one in stories), *_tried(table), *_expected(table)]


def borders(table: TurnTable, x: Numbers, low: float, high: float) -> list[Series]:
    """A line across a plot where each generation begins, at the median of what `x` has for its first rows."""
    rows = [[row for row in one.students if table.turn[row] == one.begun] for one in founded(table)]
    places = [float(np.median(x[first])) for first in rows if first]
    if not places:
        return []
    return [Series("new generation", np.repeat(places, 2).tolist(), [low, high] * len(places), "border", "links")]


def lessons(table: TurnTable) -> list[Series]:
    """Who taught whom: a link from the teacher to each student's first turn."""
    first = [(teacher, row) for row, teacher in table.teachers.items() if table.parent[row] == FRESH]
    ends = [row for pair in first for row in pair]
    if not ends:
        return []
    return [Series("taught by", table.turn[ends].tolist(), table.member[ends].tolist(), "teacher", "links")]


def _climb(one: Founded) -> Chart:
    """The score of each student by its age: those that stay in front, those that were dropped grey."""
    table, stayed = one.table, set(one.stayed)
    lines: dict[int, list[int]] = {student: [] for student in one.students}
    for row in one.climbing:
        if (student := int(table.founder[row])) in lines and not table.failed[row]:
            lines[student].append(row)
    oldest = max(map(len, lines.values()))
    short = {student: rows for student, rows in lines.items() if len(rows) == 1}
    series = [
        _points("one turn only", one, short),
        _stretches("dropped", "extinct", one, {student: rows for student, rows in lines.items() if student not in stayed}),
        _stretches("stays", "living", one, {student: rows for student, rows in lines.items() if student in stayed}),
    ]
    if one.teacher is not None:
        score = float(table.score[one.teacher])
        series.append(Series("its teacher, before", [1, max(oldest, 2)], [score, score], "teacher"))
    left = " → ".join(map(str, one.on_rungs(one.students)))
    return Chart(
        f"students-{one.number}",
        f"Students of generation {one.number}",
        Axis("turns of the student"),
        Axis(score_label(table)),
        [part for part in series if len(part.x)],
        f"{left} students on its rungs.",
    )


def _points(name: str, one: Founded, lines: Mapping[int, Sequence[int]]) -> Series:
    """Students with a single turn, of which there is no line."""
    rows = [rows[0] for rows in lines.values()]
    texts = [_student(one, student) for student in lines]
    return Series(name, [1] * len(rows), one.table.score[rows].tolist(), "extinct", "points", texts=texts)


def _stretches(name: str, role: Role, one: Founded, lines: Mapping[int, Sequence[int]]) -> Series:
    """Scores along several lines, each from its first turn on, as links between neighbours."""
    ends = [
        (age, row, student)
        for student, rows in lines.items()
        for place in range(len(rows) - 1)
        for age, row in _pair(rows, place)
    ]
    scores = one.table.score[[row for _, row, _ in ends]].tolist()
    texts = [
        f"{_student(one, student)}; score {number(score)} after {formats.count(age, 'turn')}"
        for score, (age, _, student) in zip(scores, ends, strict=True)
    ]
    return Series(name, [age for age, _, _ in ends], scores, role, "links", texts=texts)


def _student(one: Founded, student: int) -> str:
    """Who a student is, and how far it got."""
    kind = architecture_text(one.table.why[student]["architecture"])
    return f"{kind}: {formats.count(one.reached[student], 'rung')}{', stays' if student in one.stayed else ''}"


def _pair(rows: Sequence[int], place: int) -> list[tuple[int, int]]:
    return [(place + 1, rows[place]), (place + 2, rows[place + 1])]


def _tried(table: TurnTable) -> list[Chart]:
    """Every architecture with its best score in each generation, the best at the top."""
    generations = generation_of(table)
    found = {generation: architectures(table, generation, generations) for generation in sorted(set(generations))}
    best: dict[str, float] = {}
    for one in (one for kinds in found.values() for one in kinds):
        name = _name(one["architecture"])
        best[name] = max(best.get(name, -np.inf), one["score"])
    names = sorted(best, key=lambda name: best[name])[-SHOWN:]
    series = [_by_generation(generation, kinds, names) for generation, kinds in found.items()]
    left = len(best) - len(names)
    note = "The best score of a member with each architecture." + (f" The worst {left} are left out." if left else "")
    parts: Mapping[str, Json] = next((one["architecture"] for kinds in found.values() for one in kinds), {})
    label = f"architecture ({', '.join(parts)})"
    axes = Axis(score_label(table)), Axis(label, categories=names)
    return [Chart("architectures", "Architectures tried", *axes, series, note)]


def _by_generation(generation: int, kinds: Sequence[Mapping[str, Json]], names: Sequence[str]) -> Series:
    shown = [one for one in kinds if _name(one["architecture"]) in names]
    title = "the first members" if generation == 0 else f"generation {generation}"
    places = [names.index(_name(one["architecture"])) for one in shown]
    texts = [named(one["architecture"]) for one in shown]
    return Series(title, [one["score"] for one in shown], places, "plain", "points", texts=texts)


def _expected(table: TurnTable) -> list[Chart]:
    """What the model expected of each architecture, and what came of it."""
    points = [
        (one["expected"], one["beat"], one["uncertainty"], f"generation {story['generation']}: {named(one['architecture'])}")
        for story in generation_data(table)
        for one in story["architectures"]
        if "expected" in one
    ]
    if not points:
        return []
    expected, beat, _, texts = zip(*points, strict=True)
    shown = Series("architectures", expected, beat, "member", "points", texts=texts)
    return [
        Chart(
            "expected-architectures",
            "Architectures: the model's expectation and what happened",
            Axis("expected share of its generation that it beats"),
            Axis("share that it beat"),
            [shown, Series("as expected", [0.0, 1.0], [0.0, 1.0], "winner")],
            "By its best score, whoever chose it.",
        )
    ]


def _name(architecture: Mapping[str, Json]) -> str:
    """The values alone; the axis names them."""
    return " · ".join(map(number, architecture.values())) or "the same"
