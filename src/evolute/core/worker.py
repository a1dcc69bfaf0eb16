"""What every engine does on each of its workers: find start states, train a cohort, keep the new states, report."""

from __future__ import annotations

import math
import re
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any

from evolute.core.interrupt import Interrupted
from evolute.core.objective import Goal, terms, total
from evolute.core.order import Hparams, Order, Ref, Report
from evolute.core.protocols import Learner, LostError, Outcome, Progress, States, TurnError
from evolute.core.tree import Tree, digest

Progressing = Callable[[list[Ref], float, str], None]


@dataclass
class Worker:
    """Trains cohorts with one learner and remembers the states it has made.

    `fixed` are the learner's settings that are not evolved; they join an order's hyper-parameters on the way to the
    learner. `score` is what members are compared by: a metric or a sum of some, or several objectives.
    An engine calls `notify` with the kind and text of what a person should know, such as that a worker died.
    """

    learner: Learner[Any]
    states: States
    fixed: Hparams = field(default_factory=dict)
    score: Goal = "score"
    progress: Progressing = lambda refs, share, note: None
    notify: Callable[[str, str], None] = lambda kind, text: None
    _states: dict[Ref, Any] = field(default_factory=dict)
    _guests: dict[str, Any] = field(default_factory=dict)

    def groups(self, orders: Sequence[Order]) -> list[list[Order]]:
        """The orders as cohorts: members of one shape together, or each alone if the learner gains nothing by it."""
        if not self.learner.together:
            return [[order] for order in orders]
        shapes: dict[str, list[Order]] = {}
        for order in orders:
            shapes.setdefault(self.learner.shape({**self.fixed, **order.hparams}), []).append(order)
        return list(shapes.values())

    def train(self, orders: Sequence[Order]) -> list[Report]:
        """One turn of one cohort. If it fails as a whole, its members are tried one by one, to find who is to blame."""
        started = time.perf_counter()
        full = [replace(order, hparams={**self.fixed, **order.hparams}) for order in orders] if self.fixed else orders
        try:
            states, outcomes = self.learner.train(self._starts(full), full, fetch=self._fetch, progress=self._progress(orders))
            if not len(states) == len(outcomes) == len(orders):
                counts = f"{len(states)} states and {len(outcomes)} outcomes"
                raise ValueError(f"the learner returned {counts} for {len(orders)} members")
        except (LostError, Interrupted):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            if len(orders) > 1:
                return [report for order in orders for report in self.train([order])]
            text = str(error) if isinstance(error, TurnError) else traceback.format_exc()
            return [Report(orders[0], error=text, seconds=time.perf_counter() - started)]
        seconds = time.perf_counter() - started
        return [self._report(*row, seconds) for row in zip(orders, states, outcomes, strict=True)]

    def keep(self, refs: set[Ref]) -> None:
        """Forget every state but these."""
        self._states = {ref: state for ref, state in self._states.items() if ref in refs}

    def save(self, refs: Iterable[Ref]) -> dict[Ref, int]:
        """Make states that are in memory durable."""
        return {ref: self.states.write(ref, self.dump(ref)) for ref in refs}

    def dump(self, ref: Ref) -> Tree:
        """A state that is in memory, as a tree."""
        if ref not in self._states:
            raise LostError(f"the state of {ref} is not in memory")
        return self.learner.dump(self._states[ref])

    def adopt(self, ref: Ref, tree: Tree) -> None:
        """Take on a state that was made elsewhere."""
        self._states[ref] = self.learner.load(tree)

    def welcome(self, name: str, tree: Tree) -> None:
        """Take on a guest."""
        self._guests[name] = self.learner.load(tree)

    def _report(self, order: Order, state: Any, outcome: Outcome, seconds: float) -> Report:
        """The report of one member; a turn that failed, or whose metrics are not numbers, leaves no state behind."""
        try:
            if outcome.error is not None:
                return Report(order, error=outcome.error, seconds=seconds)
            metrics, objectives = _numbers(outcome.metrics, self.score)
            mark = digest(self.learner.dump(state))
        except Interrupted:
            raise
        except (Exception, SystemExit, KeyboardInterrupt):
            return Report(order, error=traceback.format_exc(), seconds=seconds)
        self._states[order.ref] = state
        steps = order.steps if outcome.steps is None else outcome.steps
        return Report(
            order,
            metrics,
            steps,
            outcome.matches,
            mark,
            seconds=seconds,
            objectives=objectives,
            timing=dict(outcome.timing),
            incidents=tuple(outcome.incidents),
        )

    def _starts(self, orders: Sequence[Order]) -> list[Any]:
        """The orders' start states, fresh ones where an order names none."""
        starting = [order for order in orders if order.start is None]
        fresh = iter(self.learner.init(starting) if starting else [])
        return [next(fresh) if order.start is None else self._fetch(order.start) for order in orders]

    def _fetch(self, player: Ref | str) -> Any:
        """A state, from memory or from its checkpoint; or a guest."""
        if isinstance(player, str):
            if player not in self._guests:
                self.welcome(player, self.states.guest(player))
            return self._guests[player]
        if player not in self._states:
            self.adopt(player, self.states.read(player))
        return self._states[player]

    def _progress(self, orders: Sequence[Order]) -> Progress:
        refs = [order.ref for order in orders]

        def progress(share: float, note: str = "") -> None:
            self.progress(refs, share, note)

        return progress


def _numbers(metrics: Mapping[str, Any], goal: Goal) -> tuple[dict[str, float | None], tuple[float, ...]]:
    """The metrics as plain numbers with a finite `score`, which may be None when no episode has ended; and the objectives.

    Of the others, what is not finite becomes None: a loss of NaN is worth knowing and no reason to fail.
    """
    if not isinstance(metrics, Mapping):
        raise TypeError(f"the metrics are a {type(metrics).__name__}: give a dict of numbers such as {{'score': 1.0}}")
    compared = (goal,) if isinstance(goal, str) else goal
    values: dict[str, float | None] = {}
    for name in (term.metric for text in compared for term in terms(text)):
        if name not in metrics:
            others = _other(metrics) if isinstance(goal, str) else ""
            raise KeyError(
                f"the metrics {sorted(map(str, metrics))} have no {name!r}, which is what members are compared by{others}"
            )
        values[name] = None if metrics[name] is None else _number(name, metrics[name])
        _check_finite(name, values[name], alone=goal in (name, f"-{name}"))
    totals = [total(text, values) for text in compared]
    found = tuple(value for value in totals if value is not None)
    numbers = {str(key): _finite(str(key), other) for key, other in metrics.items()}
    numbers["score"] = sum(found) if len(found) == len(compared) else None
    return numbers, found if len(found) == len(compared) > 1 else ()


def _check_finite(name: str, value: float | None, *, alone: bool) -> None:
    if value is not None and not math.isfinite(value):
        raise FloatingPointError(f"the score is {value}" if alone else f"{name}, by which members are compared, is {value}")


def _other(metrics: Mapping[str, Any]) -> str:
    """Which metric could be the score instead: a return or reward if there is one, else the first."""
    names = [str(name) for name in metrics]
    gains = [name for name in names if re.search("reward|return|gain|accuracy|success|fitness", name)]
    if not names:
        return "; return it, as in {'score': 1.0}"
    chosen = (gains or names)[0]
    sign = "-" if not gains and re.search("loss|error|cost|regret", chosen) else ""
    return f"; start a run with score={sign}{chosen} to compare by that{' (the minus sign minimises it)' if sign else ''}"


def _finite(key: str, value: Any) -> float | None:
    number = None if value is None else _number(key, value)
    return number if number is not None and math.isfinite(number) else None


def _number(key: str, value: Any) -> float:
    """A number, also from numpy's or JAX's scalars and arrays without dimensions."""
    if isinstance(value, Real):
        return float(value)
    shape = getattr(value, "shape", None)
    if shape == ():
        return float(value)
    what = f"shape {shape}" if shape is not None else type(value).__name__
    raise TypeError(f"the metric {key!r} must be one number, and is of {what}")
