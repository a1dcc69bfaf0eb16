"""Hyper-parameters as a Gaussian process sees them: numbers in the unit cube, categories by place, and a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evolute.core.param import Choice, Float, Param
from evolute.core.space import Space

Array = np.ndarray[Any, np.dtype[np.float64]]
Places = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Points:
    """Rows of inputs: numbers [row, number], categories [row, category] by place, time [row]."""

    numbers: Array
    categories: Places
    time: Array

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: Any) -> Points:
        return Points(self.numbers[rows], self.categories[rows], self.time[rows])

    def join(self, other: Points) -> Points:
        return Points(
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.categories, other.categories]),
            np.concatenate([self.time, other.time]),
        )


@dataclass(frozen=True)
class Layout:
    """Which hyper-parameters of a space are numbers (real, whole and ordinal ones) and which are categories."""

    space: Space

    @cached_property
    def numbers(self) -> dict[str, Param]:
        return {name: param for name, param in self.space.items() if not isinstance(param, Choice)}

    @cached_property
    def categories(self) -> dict[str, Choice]:
        return {name: param for name, param in self.space.items() if isinstance(param, Choice)}

    @cached_property
    def discrete(self) -> list[int]:
        """The places of the discrete numbers."""
        return [place for place, param in enumerate(self.numbers.values()) if not isinstance(param, Float)]

    def encode(self, hparams: Mapping[str, Any]) -> tuple[Array, Places]:
        """The numbers and the places of the categories of one row of hyper-parameters."""
        numbers = [param.encode(hparams[name]) for name, param in self.numbers.items()]
        places = [place_of(param, hparams[name]) for name, param in self.categories.items()]
        return np.array(numbers, dtype=np.float64), np.array(places, dtype=np.int64)

    def decode(self, numbers: Sequence[float] | Array, places: Sequence[int] | Places) -> dict[str, Any]:
        """The hyper-parameters at these numbers and places, in the order of the space."""
        values = {name: param.decode(float(unit)) for (name, param), unit in zip(self.numbers.items(), numbers, strict=True)}
        values |= {name: param.values[place] for (name, param), place in zip(self.categories.items(), places, strict=True)}
        return {name: values[name] for name in self.space}


def place_of(param: Choice, value: Any) -> int:
    """The place of a value in a category's list."""
    return int(param.encode(value) * len(param.values))
