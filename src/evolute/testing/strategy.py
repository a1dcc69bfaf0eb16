"""The laws that a strategy must keep."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.order import Json, LinkName, Order, Ref
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.population import Population
from evolute.core.protocols import Engine, Plan, Strategy
from evolute.core.solo import Teacher, adapt
from evolute.core.space import Space
from evolute.core.worker import Worker
from evolute.testing.memory import Rehearsal, rehearse

SPACE = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "mix": Float(0.0, 1.0),
        "depth": Int(1, 5),
        "act": Choice("a", "b"),
        "width": Ordinal(8, 16),
    }
)
MakeStrategy = Callable[[Plan], Strategy]
MakeEngine = Callable[[Worker], Engine]


def check_strategy(
    make: MakeStrategy,
    make_engine: MakeEngine,
    space: Space = SPACE,
    *,
    turns: int = 6,
    architecture: Collection[str] = (),
    sizes: Sequence[int] = (1, 2, 5, 8),
    objectives: bool = False,
) -> None:
    """Run the strategy on a noisy problem with failing members, in both modes, and check what it orders.

    The loop itself refuses orders that leave the space or name states that do not exist. `make_engine` must not depend on
    the clock, or two runs could decide at other moments: `simulated` does not, `inline` does. The problem takes teachers, and
    `architecture` names the hyper-parameters that its weights are bound to; `sizes` are the populations to try. With
    `objectives` members are compared by two at once.
    """
    goal = ("score", "-cost") if objectives else ()
    for size in sizes:
        bound = frozenset(architecture)
        links = frozenset[LinkName]({"teacher"})
        plan = Plan(space, size, interval=10, turns=turns, architecture=bound, links=links, objectives=goal)
        for barrier in (True, False):
            first, again = (_run(make(plan), plan, make_engine, barrier) for _ in range(2))
            assert first.journal.lines == again.journal.lines, (
                "the same seed gave other orders: does all randomness come from `rng`?"
            )


def _run(strategy: Strategy, plan: Plan, make_engine: MakeEngine, barrier: bool) -> Rehearsal:
    checked = _Checked(strategy, plan.architecture)
    return rehearse(adapt(_problem), checked, plan, make_engine, turns=plan.turns or 1, seed=1, barrier=barrier)


def _problem(
    state: Any, hparams: dict[str, Any], steps: int, seed: int, *, teacher: Teacher | None = None
) -> tuple[Any, dict[str, Any]]:
    """Random scores, now and then none or a failure; fresh weights never fail."""
    rng = np.random.default_rng(seed)
    draw = rng.random()
    if state is not None and draw < 0.15:
        raise ArithmeticError("scripted failure")
    total = (0.0 if state is None else state["total"]) + rng.normal()
    return {"total": total}, {"score": None if draw > 0.95 else total, "cost": rng.normal()}


@dataclass(frozen=True)
class _Checked:
    """Steps twice, from JSON text, compares, and checks what failed members are ordered."""

    inner: Strategy
    architecture: Collection[str]

    def init(self) -> Json:
        return self.inner.init()

    def step(
        self, state: Json, population: Population, ready: Sequence[int], rng: np.random.Generator
    ) -> tuple[Json, list[Order]]:
        text = json.dumps(state, allow_nan=False)
        twin = np.random.Generator(type(rng.bit_generator)())
        twin.bit_generator.state = rng.bit_generator.state
        after, orders = self.inner.step(state, population, ready, rng)
        assert json.dumps(state, allow_nan=False) == text, "step changed the state it was given"
        after_twin, orders_twin = self.inner.step(json.loads(text), population, list(ready), twin)
        assert json.dumps(after) == json.dumps(after_twin), "the state does not survive JSON, or step is not pure"
        assert orders == orders_twin, "step is not pure: the same arguments gave other orders"
        _check_rescues(population, ready, orders, set(self.inner.retain(state, population)))
        self._check_architecture(population, orders)
        return json.loads(json.dumps(after, allow_nan=False)), orders

    def retain(self, state: Json, population: Population) -> list[Ref]:
        return list(self.inner.retain(state, population))

    def _check_architecture(self, population: Population, orders: Sequence[Order]) -> None:
        for order in orders:
            before = order.hparams if order.start is None else population.find(order.start).order.hparams
            changed = [name for name in self.architecture if order.hparams[name] != before[name]]
            assert not changed, f"member {order.member} continues weights with another {', '.join(changed)}"


def _check_rescues(population: Population, ready: Sequence[int], orders: Sequence[Order], retained: Collection[Ref]) -> None:
    """A member whose turn failed continues from a healthy member's state, its own last good state, or fresh weights.

    A state that the strategy retains is as good, whoever made it.
    """
    by_member = {order.member: order for order in orders}
    for slot in ready:
        if not population[slot].failed:
            continue
        assert slot in by_member, f"member {slot} failed its last turn and got no order"
        start = by_member[slot].start
        if start is None:
            continue
        assert not population.find(start).failed, f"member {slot} failed its last turn, and continues from a turn that failed"
        donor = population[start.member]
        if start in retained:
            continue
        assert donor.latest is not None, f"member {slot} failed its last turn, and continues from a state that is gone"
        assert start == donor.latest.ref, f"member {slot} failed its last turn, and continues from a state that is gone"
        assert donor.slot == slot or not donor.failed, (
            f"member {slot} failed its last turn, and inherits from member {donor.slot}, which failed too"
        )
