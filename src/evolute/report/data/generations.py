"""The story of a run's generations: when each was founded, who taught it, which architectures it tried, and who was left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evolute.core.order import Json
from evolute.report import formats
from evolute.runs.turns import TurnTable

SOURCES = {"model": "by the model", "best": "the best before", "random": "at random"}


@dataclass(frozen=True)
class Founded:
    """The rows of a generation: the students' first turns, and all that were trained until the slots had their members."""

    table: TurnTable
    number: int
    rows: Sequence[int]

    @cached_property
    def students(self) -> list[int]:
        return [row for row in self.rows if self.table.why[row].get("event") == "student"]

    @cached_property
    def begun(self) -> int:
        """The turn at which it was founded: the first of any slot."""
        return min(int(self.table.turn[row]) for row in self.rows)

    @cached_property
    def teacher(self) -> int | None:
        """The teacher's row; None if students learn by themselves."""
        return next((self.table.teachers[row] for row in self.students if row in self.table.teachers), None)

    @cached_property
    def chosen(self) -> list[int]:
        """The first turns of the members that were chosen in the end."""
        return [row for row in self.rows if self.table.why[row].get("event") == "chosen"]

    @cached_property
    def climbing(self) -> list[int]:
        """The rows that it took to choose them."""
        return [row for row in self.rows if self.table.why[row].get("event") != "chosen"]

    @cached_property
    def reached(self) -> dict[int, int]:
        """How many rungs each student has reached; a student is the row of its first turn."""
        found: dict[int, set[int]] = {student: set() for student in self.students}
        for row in self.climbing:
            if (student := int(self.table.founder[row])) in found:
                found[student].add(int(self.table.why[row]["rung"]))
        return {student: len(rungs) for student, rungs in found.items()}

    @cached_property
    def stayed(self) -> list[int]:
        """The students that were chosen in the end."""
        return [founder for row in self.chosen if (founder := int(self.table.founder[row])) in self.reached]

    def on_rungs(self, students: Sequence[int]) -> list[int]:
        """How many of these students reached each rung."""
        most = max((self.reached[student] for student in students), default=0)
        return [sum(self.reached[student] > rung for student in students) for rung in range(most)]


def founded(table: TurnTable) -> list[Founded]:
    """All generations after the first."""
    rows: dict[int, list[int]] = {}
    for row, why in enumerate(table.why):
        if "generation" in why:
            rows.setdefault(int(why["generation"]), []).append(row)
    return [Founded(table, number, found) for number, found in sorted(rows.items())]


def generation_of(table: TurnTable) -> list[int]:
    """The generation of each row: a slot is in the one that it was last given a candidate of."""
    found, now = [], dict.fromkeys(range(table.size), 0)
    for member, why in zip(table.member.tolist(), table.why, strict=True):
        now[member] = int(why.get("generation", now[member]))
        found.append(now[member])
    return found


def architectures(table: TurnTable, number: int, generations: Sequence[int]) -> list[dict[str, Json]]:
    """What a generation tried, best first, with its best score and the share of the others that it beat."""
    names = _names(table)
    kinds: dict[str, dict[str, Json]] = {}
    for row, generation in enumerate(generations):
        score = float(table.score[row])
        if generation == number and np.isfinite(score) and not table.failed[row]:
            values = _architecture(table.hparams[row], names)
            one = kinds.setdefault(repr(values), {"architecture": values, "score": score})
            one["score"] = max(one["score"], score)
    scores = [one["score"] for one in kinds.values()]
    for one in kinds.values():
        below, equal = sum(score < one["score"] for score in scores), sum(score == one["score"] for score in scores)
        one["beat"] = (below + equal / 2) / len(scores)
    return sorted(kinds.values(), key=lambda one: -one["beat"])


def generation_data(table: TurnTable) -> list[dict[str, Json]]:
    """The story of each generation after the first, as plain data."""
    generations = generation_of(table)
    return [_data(one, generations) for one in founded(table)]


def generation_lines(data: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    """The story in lines of text."""
    for one in data:
        left = " → ".join(str(count) for count in one["rungs"])
        teacher = one["teacher"]
        taught = "without a teacher"
        if teacher is not None:
            taught = f"taught by member {teacher['member']} (turn {teacher['turn']}, score {formats.number(teacher['score'])})"
        stay = "" if one["stay"] is None else f"; {_stay(one)}"
        yield f"  generation {one['generation']} from turn {one['from']} on, {taught}: {left} students{stay}"
        for kind in one["architectures"]:
            yield f"    {_kind(kind)}"


def architecture_text(architecture: Mapping[str, Json]) -> str:
    """An architecture's values with their names."""
    return formats.hparams(architecture) if architecture else "the same architecture"


def spent(table: TurnTable) -> int:
    """The turns that it took to teach and to thin out new generations."""
    return sum(len(one.climbing) for one in founded(table))


def compiling(table: TurnTable) -> float:
    """About how many seconds architectures took to compile: what each one's first turn took beyond its usual time.

    Turns with a teacher are another program, and count for themselves. A program that was on disk already shows as nothing.
    """
    names = _names(table)
    taken: dict[tuple[str, bool], list[float]] = {}
    for row in np.flatnonzero(~table.failed).tolist():
        key = (repr(_architecture(table.hparams[row], names)), row in table.teachers)
        taken.setdefault(key, []).append(float(table.seconds[row]))
    return sum(max(seconds[0] - float(np.median(seconds[1:])), 0.0) for seconds in taken.values() if len(seconds) > 1)


def _data(one: Founded, generations: Sequence[int]) -> dict[str, Json]:
    table = one.table
    kinds = architectures(table, one.number, generations)
    return {
        "generation": one.number,
        "from": one.begun,
        "turns": len(one.climbing),
        "teacher": None if one.teacher is None else _teacher(table, one.teacher),
        "rungs": one.on_rungs(one.students),
        "stay": {"students": len(one.stayed), "others": len(one.chosen) - len(one.stayed)} if one.chosen else None,
        "architectures": [{**kind, **_students(one, kind["architecture"])} for kind in kinds],
    }


def _students(one: Founded, architecture: Mapping[str, Json]) -> dict[str, Json]:
    """Who chose an architecture, what the model expected of it, and how its students did."""
    table, names = one.table, list(architecture)
    students = [row for row in one.students if _architecture(table.hparams[row], names) == architecture]
    if not students:
        return {}
    why = table.why[students[0]]
    said = {key: why[key] for key in ("by", "expected", "uncertainty") if key in why}
    return {**said, "rungs": one.on_rungs(students), "stay": sum(student in students for student in one.stayed)}


def _teacher(table: TurnTable, row: int) -> dict[str, Json]:
    score = float(table.score[row])
    return {
        "member": int(table.member[row]),
        "turn": int(table.turn[row]),
        "score": score if np.isfinite(score) else None,
        "architecture": _architecture(table.hparams[row], _names(table)),
    }


def _names(table: TurnTable) -> list[str]:
    """The hyper-parameters that make an architecture, as students name them."""
    why = next((why for why in table.why if "architecture" in why), {})
    return list(why.get("architecture", ()))


def _architecture(hparams: Mapping[str, Any], names: Sequence[str]) -> dict[str, Json]:
    return {name: hparams.get(name) for name in names}


def _stay(one: Mapping[str, Json]) -> str:
    students, others = one["stay"]["students"], one["stay"]["others"]
    kept = formats.count(students, "student")
    return f"{kept} stay" if not others else f"{kept} and the teacher stay" if others == 1 else f"{kept} stay, {others} others"


def _kind(kind: Mapping[str, Json]) -> str:
    values = architecture_text(kind["architecture"])
    did = f"best {formats.number(kind['score'])}, above {kind['beat']:.0%} of them"
    if "by" not in kind:
        return f"{values}: {did}"
    expected = f" (expected {kind['expected']:.0%} ± {kind['uncertainty']:.0%})" if "expected" in kind else ""
    left = " → ".join(str(count) for count in kind["rungs"])
    return f"{values}  ({SOURCES[kind['by']]}): {did}{expected}; {left} students, {kind['stay']} stay"
