"""Steering: what a person asks of a run while it trains, and what a decision makes of it.

A request is journalled with the decision that takes it, so that a resumed run, a fork and everybody who reads the run know the
same: who is pinned, and between which bounds each hyper-parameter lies now. Nothing else remembers it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from evolute.core.order import Hparams, Json, Order
from evolute.core.param import Choice, Float, Int, Ordinal, Param
from evolute.core.population import Member, Population
from evolute.core.protocols import Plan
from evolute.core.request import Answer, RefusedError, Request
from evolute.core.space import Space

FAILURES = 2
"""So many failures in a row end a pin: a member that cannot go on by itself is left to the strategy."""


@dataclass(frozen=True)
class Steering:
    """What is in force: the pinned members, and the hyper-parameters whose bounds were changed."""

    pinned: frozenset[int] = frozenset()
    bounds: Mapping[str, Param] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Steering:
        """What is in force after these answers."""
        steering = cls()
        for answer in answers:
            if answer.refused is None:
                steering = steering.after(Request.from_json(answer.body))
        return steering

    def after(self, request: Request) -> Steering:
        slots = frozenset(() if request.member is None else (request.member,))
        match request.kind:
            case "pin":
                return replace(self, pinned=self.pinned | slots)
            case "unpin":
                return replace(self, pinned=self.pinned - slots)
            case "bounds":
                return replace(self, bounds={**self.bounds, **request.bounds})
        return self

    def space(self, space: Space) -> Space:
        """The space with the bounds that are in force."""
        return Space({name: self.bounds.get(name, param) for name, param in space.items()}) if self.bounds else space

    def plan(self, plan: Plan) -> Plan:
        """The plan with the bounds that are in force."""
        if not self.bounds:
            return plan
        space = self.space(plan.space)
        first = tuple({name: space[name].clip(value) for name, value in row.items()} for row in plan.first)
        return replace(plan, space=space, first=first)


@dataclass(frozen=True)
class Steered:
    """What the requests of one decision come to: what is in force from now on, orders instead of the strategy's, answers."""

    steering: Steering
    orders: Mapping[int, Order] = field(default_factory=dict)
    answers: Sequence[Answer] = ()


@dataclass(frozen=True)
class Steerer:
    """Takes the requests that are due at one decision; `admit` raises ValueError for a plan that cannot be trained by."""

    number: int
    plan: Plan
    population: Population
    ready: Sequence[int]
    admit: Callable[[Plan], Any]

    def steered(self, steering: Steering, waiting: Sequence[tuple[str, Json]]) -> Steered:
        """Take those of the waiting requests that are due, oldest first."""
        answers: list[Answer] = []
        orders: dict[int, Order] = {}
        for slot in sorted(steering.pinned.intersection(self.ready)):
            if _failures(self.population[slot]) >= FAILURES:
                ended = Request("unpin", slot)
                steering = steering.after(ended)
                answers.append(Answer(self.number, f"failed-{self.number}-{slot}", ended.to_json()))
        for name, body in waiting:
            try:
                request = Request.from_json(body)
                self._check_members(request)
                if not self._is_due(request):
                    continue
                granted, order = self._granted(request, steering, orders)
                steering = steering.after(granted)
                orders |= {} if order is None else {order.member: order}
                answers.append(Answer(self.number, name, granted.to_json()))
            except RefusedError as error:
                answers.append(Answer(self.number, name, body, str(error)))
        for slot in sorted(steering.pinned.intersection(self.ready) - orders.keys()):
            if self.population[slot].latest is not None:
                orders[slot] = self._drafted(slot, slot, event="pinned")
        space = steering.space(self.plan.space)
        return Steered(steering, {slot: clipped(order, space) for slot, order in orders.items()}, answers)

    def _check_members(self, request: Request) -> None:
        for slot in (request.member, request.donor):
            if slot is not None and slot >= len(self.population):
                raise RefusedError(f"there is no member {slot}: the run has members 0 to {len(self.population) - 1}")

    def _is_due(self, request: Request) -> bool:
        if request.member is None:
            return min(member.turns for member in self.population.members) >= request.turn
        is_ready = request.kind not in ("clone", "set") or request.member in self.ready
        return is_ready and self.population[request.member].turns >= request.turn

    def _granted(self, request: Request, steering: Steering, orders: Mapping[int, Order]) -> tuple[Request, Order | None]:
        """The request with values as the space has them, and the order that it gives; raises RefusedError."""
        slot = request.member
        if slot is None:
            request = replace(request, bounds=self._new_bounds(request, steering))
            self._check_plan(steering.after(request))
            return request, None
        pinned = slot in steering.pinned
        match request.kind:
            case "pin" if pinned:
                raise RefusedError(f"member {slot} is pinned already")
            case "unpin" if not pinned:
                raise RefusedError(f"member {slot} is not pinned")
            case "clone" if pinned:
                raise RefusedError(f"member {slot} is pinned: unpin it first")
            case "clone":
                assert request.donor is not None
                if request.donor == slot:
                    raise RefusedError(f"member {slot} cannot be cloned into itself")
                return request, self._drafted(slot, request.donor, event="clone")
            case "set":
                values = self._values(request.hparams, steering.space(self.plan.space))
                draft = orders.get(slot) or self._drafted(slot, slot, event="set")
                why = {**draft.why, "set": sorted(values)}
                return replace(request, hparams=values), replace(draft, hparams={**draft.hparams, **values}, why=why)
        return request, None

    def _drafted(self, slot: int, donor: int, *, event: str) -> Order:
        """An order to continue the donor's latest state with the donor's values."""
        latest = self.population[donor].latest
        if latest is None:
            raise RefusedError(f"member {donor} has no state yet")
        return self.population.draft(slot, latest.order.hparams, start=latest.ref, event=event)

    def _values(self, given: Hparams, space: Space) -> dict[str, Any]:
        """The values of a request, as the space has them."""
        if not given:
            raise RefusedError("no value was given to set")
        self._check_names(given)
        return {name: inside(space, name, value) for name, value in given.items()}

    def _new_bounds(self, request: Request, steering: Steering) -> dict[str, Param]:
        if not request.bounds:
            raise RefusedError("no bounds were given")
        self._check_names(request.bounds)
        before = steering.space(self.plan.space)
        return {name: rebound(name, before[name], param) for name, param in request.bounds.items()}

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.plan.space:
                raise RefusedError(f"{name} is not evolved here: {', '.join(self.plan.space)} are")
            if name in self.plan.architecture:
                raise RefusedError(f"{name} is bound to the weights, and cannot change while they train")

    def _check_plan(self, steering: Steering) -> None:
        try:
            self.admit(steering.plan(self.plan))
        except ValueError as error:
            raise RefusedError(str(error)) from error


def widest(space: Space, answers: Iterable[Answer]) -> dict[str, Param]:
    """The hyper-parameters whose bounds were changed, each with all values that it could ever have."""
    found: dict[str, Param] = {}
    for answer in answers:
        for name, after in Request.from_json(answer.body).bounds.items() if answer.refused is None else ():
            found[name] = _hull(found.get(name, space[name]), after)
    return found


def _hull(before: Param, after: Param) -> Param:
    if isinstance(before, Float) and isinstance(after, Float):
        return replace(after, low=min(before.low, after.low), high=max(before.high, after.high))
    if isinstance(before, Int) and isinstance(after, Int):
        return replace(after, low=min(before.low, after.low), high=max(before.high, after.high))
    return after


def rebound(name: str, before: Param, after: Param) -> Param:
    """The new bounds of a hyper-parameter: of the same kind, and values that were listed stay; raises RefusedError."""
    if before.to_json()["kind"] != after.to_json()["kind"]:
        raise RefusedError(f"{name} is {before}, and only its bounds can change, not its kind")
    if isinstance(before, Float) and isinstance(after, Float):
        start = None if before.start is None else (after.clip(before.start[0]), after.clip(before.start[1]))
        return replace(after, start=after.start or start)
    if isinstance(before, (Choice, Ordinal)) and isinstance(after, (Choice, Ordinal)):
        kept = [value for value in after.values if before.contains(value)]
        if len(kept) < len(before.values):
            raise RefusedError(f"{name} is {before}, and members may have any of these values: a list can only grow")
        if isinstance(before, Choice):
            return Choice(*before.values, *(value for value in after.values if not before.contains(value)))
        if kept != list(before.values):
            raise RefusedError(f"{name} is {before}: a longer list must keep the order of its values")
    return after


def inside(space: Mapping[str, Param], name: str, value: Any) -> Any:
    """A value as its parameter has it; raises RefusedError if it is not in the range."""
    try:
        found = space[name].clip(value)
    except (TypeError, ValueError):
        found = None
    if found is None or found != value:
        raise RefusedError(f"{name}={value} is not in {space[name]}")
    return found


def clipped(order: Order, space: Space) -> Order:
    """The order with values inside the space: what it carries over may lie outside bounds that have changed since."""
    outside = [name for name, param in space.items() if not param.contains(order.hparams[name])]
    if not outside:
        return order
    values = {name: space[name].clip(order.hparams[name]) for name in outside}
    return replace(order, hparams={**order.hparams, **values}, why={"event": "bounds", **order.why, "clipped": outside})


def _failures(member: Member) -> int:
    """The failures at the end of a member's history, as far as they matter."""
    turns = list(islice(member.history(), FAILURES))
    return len(turns) if all(turn.failed for turn in turns) else 0
