"""No evolution: every member trains along a given schedule, such as the line of descent that won another run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.order import Json, Order, Ref
from evolute.core.population import Population
from evolute.core.protocols import Plan


def schedule(plan: Plan, *, rows: tuple[dict[str, Any], ...] = ()) -> Schedule:
    """Hyper-parameters by turn: each row has `hparams`, a number of `turns` and their `steps`; the last row lasts to the end.

    `evolute schedule` writes them from a run. A row for one turn may have its own `seed`, as in an exact replay. A row with a
    `teacher`, the place of a state in `init.teachers`, says by `teacher_weight` how much it counts at a turn's start and end.
    """
    if not rows:
        raise ValueError(
            "rows is empty; `evolute schedule RUN -o schedule.yaml` writes them, and `-c schedule.yaml` reads them"
        )
    return Schedule(plan, tuple(part for place, row in enumerate(rows) for part in _parts(plan, place, row)))


@dataclass(frozen=True)
class Part:
    """What one turn of the schedule is trained with."""

    hparams: dict[str, Any]
    steps: int = 0
    seed: int = 0
    teacher: int | None = None
    teacher_weight: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Schedule:
    """Follows the parts one after the other; a turn that failed is tried again from the state before it."""

    plan: Plan
    parts: tuple[Part, ...]

    @property
    def teachers(self) -> int:
        """How many teachers the run must begin with."""
        return 1 + max((part.teacher for part in self.parts if part.teacher is not None), default=-1)

    def init(self) -> Json:
        return {}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        return state, [self._order(population, slot) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        """The teachers of parts to come."""
        for slot in range(len(population)):
            yield from {Ref(slot, p.teacher) for p in self.parts[_place(population, slot) :] if p.teacher is not None}

    def _order(self, population: Population, slot: int) -> Order:
        latest, place = population[slot].latest, _place(population, slot)
        part = self.parts[min(place, len(self.parts) - 1)]
        start = None if latest is None or "teacher" in latest.order.why else latest.ref
        event = "retry" if population[slot].failed else "init" if start is None else "scheduled"
        seed = part.seed if place < len(self.parts) else 0
        return Order(
            slot,
            population[slot].turns,
            part.hparams,
            start=start,
            steps=part.steps,
            seed=seed,
            teacher=None if part.teacher is None else Ref(slot, part.teacher),
            teacher_weight=part.teacher_weight,
            why={"event": event, "place": place},
        )


def _parts(plan: Plan, place: int, row: dict[str, Any]) -> list[Part]:
    """The turns of one row, its values as the space has them."""
    if unknown := sorted(row.keys() - {"hparams", "turns", "steps", "seed", "teacher", "teacher_weight"}):
        raise ValueError(
            f"rows[{place}]: unknown {', '.join(unknown)}; a row has hparams, turns, steps, seed, teacher and teacher_weight"
        )
    given = row.get("hparams", {})
    if given.keys() != plan.space.keys():
        raise ValueError(
            f"rows[{place}].hparams has {sorted(given)}, but the space has {sorted(plan.space)}: they must be the same"
        )
    hparams = {name: param.clip(given[name]) for name, param in plan.space.items()}
    if changed := [name for name in hparams if hparams[name] != given[name]]:
        name = changed[0]
        raise ValueError(f"rows[{place}].hparams.{name} = {given[name]!r} is not in {plan.space[name]}")
    turns, seed = int(row.get("turns", 1)), int(row.get("seed", 0))
    if turns < 1 or (seed and turns > 1):
        raise ValueError(f"rows[{place}]: turns = {turns} must be at least 1, and exactly 1 with a seed")
    teacher, weight = row.get("teacher"), row.get("teacher_weight", (0.0, 0.0))
    if teacher is not None and "teacher" not in plan.links:
        raise ValueError(f"rows[{place}] has a teacher, and this learner takes none")
    if teacher is None and any(weight):
        raise ValueError(f"rows[{place}] has a teacher_weight and no teacher")
    first, last = weight
    return [Part(hparams, int(row.get("steps", 0)), seed, teacher, (float(first), float(last)))] * turns


def _place(population: Population, slot: int) -> int:
    """The number of the part that comes next."""
    latest = population[slot].latest
    return 0 if latest is None else int(latest.order.why.get("place", -1)) + 1
