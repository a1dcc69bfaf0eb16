"""Evolvable hyper-parameters: what may be drawn, how a value moves, and its place in the unit interval.

Every new value lies inside its parameter's bounds and has its parameter's type, whatever went in. Perturbation follows
the PBT paper (arXiv 1711.09846, appendix A): a scale moves by a factor, an order by a step.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol, runtime_checkable

import numpy as np

Rng = np.random.Generator
FACTORS = (0.8, 1.2)
SPREAD = 0.1
"""Standard deviation of an additive move, as a share of the range: for ranges that touch zero, which no factor leaves."""


class Evolves(Enum):
    """How a learner's setting may be a range, as a mark in its annotation; without one, any range is fine."""

    NEVER = "it is the same for all members"
    LISTED = "each value is another program"


@runtime_checkable
class Param(Protocol):
    """One evolvable hyper-parameter."""

    def sample(self, rng: Rng) -> Any:
        """A value drawn from the prior."""

    def perturb(self, value: Any, rng: Rng, factors: tuple[float, ...] = FACTORS) -> Any:
        """A value near `value`."""

    def clip(self, value: Any) -> Any:
        """The closest valid value."""

    def contains(self, value: Any) -> bool:
        """Whether the value has the right type and lies inside the bounds."""

    def encode(self, value: Any) -> float:
        """The value's place in [0, 1], through the parameter's own scale."""

    def decode(self, unit: float) -> Any:
        """The value at this place in [0, 1]."""

    def to_json(self) -> dict[str, Any]:
        """A plain description; `str` gives the one that people write."""


@dataclass(frozen=True)
class Float:
    """A real number in [low, high], on a linear or logarithmic scale.

    `complement` puts 1 - value on the logarithmic scale, as suits a discount. `start` narrows the first draw.
    """

    low: float
    high: float
    log: bool = False
    complement: bool = False
    start: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high)
        if self.log and self.complement:
            raise ValueError(f"{self}: choose log or complement, not both")
        if self.log and self.low <= 0:
            raise ValueError(f"{self}: a log range must lie above 0")
        if self.complement and self.high >= 1:
            raise ValueError(f"{self}: a 1-log range must lie below 1, since 1 - value is on the log scale")
        if self.start is not None and not self.low <= self.start[0] <= self.start[1] <= self.high:
            raise ValueError(f"{self}: the first draw must lie inside [{self.low}, {self.high}]")

    def sample(self, rng: Rng) -> float:
        return self._draw(self.low, self.high, rng)

    def first(self, rng: Rng) -> float:
        """A value for a fresh member: from `start`, where that narrows the range."""
        return self._draw(*(self.start or (self.low, self.high)), rng)

    def perturb(self, value: float, rng: Rng, factors: tuple[float, ...] = FACTORS) -> float:
        if self.complement:
            return self.clip(1 - (1 - value) * factors[rng.integers(len(factors))])
        if self.low > 0 or self.high < 0:
            return self.clip(value * factors[rng.integers(len(factors))])
        return self.clip(value + rng.normal(0, SPREAD * (self.high - self.low)))

    def clip(self, value: float) -> float:
        if math.isnan(value):
            raise ValueError(f"NaN is no value for {self}")
        return float(min(max(float(value), self.low), self.high))

    def contains(self, value: Any) -> bool:
        return isinstance(value, float) and self.low <= value <= self.high

    def encode(self, value: float) -> float:
        low, high = self._warp(self.low), self._warp(self.high)
        return _unit((self._warp(self.clip(value)) - low) / (high - low))

    def decode(self, unit: float) -> float:
        low, high = self._warp(self.low), self._warp(self.high)
        return self.clip(self._unwarp(low + _unit(unit) * (high - low)))

    def to_json(self) -> dict[str, Any]:
        kind = "log" if self.log else "1-log" if self.complement else "float"
        start = {} if self.start is None else {"start": list(self.start)}
        return {"kind": kind, "low": self.low, "high": self.high, **start}

    def __str__(self) -> str:
        head = "log" if self.log else "1-log" if self.complement else "float" if self.start else ""
        tail = "" if self.start is None else f" from [{_bound(self.start[0])}, {_bound(self.start[1])}]"
        return f"{head}[{_bound(self.low)}, {_bound(self.high)}]{tail}"

    def _draw(self, low: float, high: float, rng: Rng) -> float:
        low, high = sorted((self._warp(low), self._warp(high)))
        return self.clip(self._unwarp(rng.uniform(low, high)))

    def _warp(self, value: float) -> float:
        return math.log(value) if self.log else math.log(1 - value) if self.complement else value

    def _unwarp(self, place: float) -> float:
        return math.exp(place) if self.log else 1 - math.exp(place) if self.complement else place


@dataclass(frozen=True)
class Int:
    """A whole number in [low, high], on a linear or logarithmic scale."""

    low: int
    high: int
    log: bool = False

    def __post_init__(self) -> None:
        _check_bounds(self, self.low, self.high)
        if self.low != int(self.low) or self.high != int(self.high):
            raise ValueError(f"{self}: the bounds of an int range must be whole numbers")
        if self.log and self.low <= 0:
            raise ValueError(f"{self}: a log range must lie above 0")

    def sample(self, rng: Rng) -> int:
        if not self.log:
            return int(rng.integers(self.low, self.high + 1))
        return self.clip(math.exp(rng.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5))))

    def perturb(self, value: int, rng: Rng, factors: tuple[float, ...] = FACTORS) -> int:
        """At least one step, rounded at random, so that every value is reached: 2 * 1.2 gives 3, 13 * 1.2 gives 15 or 16."""
        if self.low > 0 or self.high < 0:
            moved = value * factors[rng.integers(len(factors))]
        else:
            moved = value + rng.normal(0, SPREAD * (self.high - self.low))
        new = math.floor(moved + rng.random())
        if new == value:
            new = value + (1 if moved >= value else -1)
        return self.clip(new)

    def clip(self, value: float) -> int:
        return int(min(max(round(value), self.low), self.high))

    def contains(self, value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high

    def encode(self, value: int) -> float:
        low, high = self._warp(self.low), self._warp(self.high)
        return _unit((self._warp(self.clip(value)) - low) / (high - low))

    def decode(self, unit: float) -> int:
        low, high = self._warp(self.low), self._warp(self.high)
        place = low + _unit(unit) * (high - low)
        return self.clip(math.exp(place) if self.log else place)

    def to_json(self) -> dict[str, Any]:
        return {"kind": "int-log" if self.log else "int", "low": self.low, "high": self.high}

    def __str__(self) -> str:
        return f"{'int-log' if self.log else 'int'}[{self.low}, {self.high}]"

    def _warp(self, value: float) -> float:
        return math.log(value) if self.log else value


@dataclass(frozen=True, init=False)
class _Listed:
    """What a Choice and an Ordinal share: a list of values, each equally likely."""

    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        object.__setattr__(self, "values", _distinct(self, values))

    def sample(self, rng: Rng) -> Any:
        return self.values[rng.integers(len(self.values))]

    def clip(self, value: Any) -> Any:
        return self.values[self._place(value)]

    def contains(self, value: Any) -> bool:
        return any(_same(value, other) for other in self.values)

    def to_json(self) -> dict[str, Any]:
        return {"kind": type(self).__name__.lower(), "values": list(self.values)}

    def __str__(self) -> str:
        return f"{type(self).__name__.lower()}[{', '.join(map(_text, self.values))}]"

    def _place(self, value: Any) -> int:
        for place, other in enumerate(self.values):
            if _same(value, other):
                return place
        raise ValueError(f"{value!r} is not one of {self}")


@dataclass(frozen=True, init=False)
class Choice(_Listed):
    """One of several values without an order among them."""

    def perturb(self, value: Any, rng: Rng, factors: tuple[float, ...] = FACTORS) -> Any:
        """Stay or become another with equal probability: an heir that never kept its parent's category would not inherit it."""
        place = self._place(value)
        if rng.random() < 0.5:
            return self.values[place]
        return self.values[(place + rng.integers(1, len(self.values))) % len(self.values)]

    def encode(self, value: Any) -> float:
        return (self._place(value) + 0.5) / len(self.values)

    def decode(self, unit: float) -> Any:
        return self.values[min(int(_unit(unit) * len(self.values)), len(self.values) - 1)]


@dataclass(frozen=True, init=False)
class Ordinal(_Listed):
    """One of several values in an order; perturbing moves to a neighbour."""

    def perturb(self, value: Any, rng: Rng, factors: tuple[float, ...] = FACTORS) -> Any:
        place = self._place(value) + (1 if rng.random() < 0.5 else -1)
        return self.values[min(max(place, 0), len(self.values) - 1)]

    def encode(self, value: Any) -> float:
        return self._place(value) / (len(self.values) - 1)

    def decode(self, unit: float) -> Any:
        return self.values[round(_unit(unit) * (len(self.values) - 1))]


def _check_bounds(param: Any, low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError(f"{param}: the bounds must be finite numbers")
    if low >= high:
        raise ValueError(f"{param}: the lower bound must lie below the upper one")


def corners(param: Param) -> tuple[Any, ...]:
    """The values of a list, or both ends of a range."""
    return param.values if isinstance(param, _Listed) else (param.decode(0.0), param.decode(1.0))


def _distinct(param: _Listed, values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values as the journal will give them back (a tuple as a list), each once."""
    shown = f"{type(param).__name__.lower()}[{', '.join(map(str, values))}]"
    try:
        values = tuple(json.loads(json.dumps(value, allow_nan=False)) for value in values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{shown}: values must be numbers, words, true, false, null or lists of them") from error
    if len(values) < 2:
        raise ValueError(f"{shown}: needs at least two values; write a plain value to fix it")
    for place, value in enumerate(values):
        if any(_same(value, other) for other in values[:place]):
            raise ValueError(f"{shown}: {value!r} is listed twice")
    return values


def _bound(value: float) -> str:
    """A bound as a config writes it, the same for 1 and 1.0."""
    return str(int(value)) if math.isfinite(value) and value == int(value) and abs(value) < 1e15 else str(value)


def _text(value: Any) -> str:
    """A value as a config writes it, so that it reads back as the same one."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w-]*", value) and value.lower() not in ("true", "false", "null"):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _same(one: Any, other: Any) -> bool:
    """Equal in type too: True is not 1, and 1 is not 1.0."""
    return type(one) is type(other) and bool(one == other)


def _unit(place: float) -> float:
    return min(max(place, 0.0), 1.0)
