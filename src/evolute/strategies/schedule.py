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

    `evolute schedule` writes them from a run. A row for one turn may have its own `seed`, as in an exact replay.
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


@dataclass(frozen=True)
class Schedule:
    """Follows the parts one after the other; a turn that failed is tried again from the state before it."""

    plan: Plan
    parts: tuple[Part, ...]

    def init(self) -> Json:
        return {}

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        return state, [self._order(population, slot) for slot in ready]

    def retain(self, state: Json, population: Population) -> Iterable[Ref]:
        return ()

    def _order(self, population: Population, slot: int) -> Order:
        latest = population[slot].latest
        place = 0 if latest is None else int(latest.order.why.get("place", -1)) + 1
        part = self.parts[min(place, len(self.parts) - 1)]
        event = "retry" if population[slot].failed else "init" if latest is None else "scheduled"
        start = None if latest is None else latest.ref
        seed = part.seed if place < len(self.parts) else 0
        return Order(
            slot,
            population[slot].turns,
            part.hparams,
            start=start,
            steps=part.steps,
            seed=seed,
            why={"event": event, "place": place},
        )


def _parts(plan: Plan, place: int, row: dict[str, Any]) -> list[Part]:
    """The turns of one row, its values as the space has them."""
    if unknown := sorted(row.keys() - {"hparams", "turns", "steps", "seed"}):
        raise ValueError(f"rows[{place}]: unknown {', '.join(unknown)}; a row has hparams, turns, steps and seed")
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
    return [Part(hparams, int(row.get("steps", 0)), seed)] * turns
