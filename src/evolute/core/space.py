"""The space of a run: its evolvable hyper-parameters by name, drawn together, and their place in the unit cube."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evolute.core.param import Choice, Float, Int, Ordinal, Param, Rng


@dataclass(frozen=True)
class Space(Mapping[str, Param]):
    """The evolvable hyper-parameters by name."""

    params: Mapping[str, Param]

    def __getitem__(self, name: str) -> Param:
        return self.params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.params)

    def __len__(self) -> int:
        return len(self.params)

    @classmethod
    def from_json(cls, described: Mapping[str, Mapping[str, Any]]) -> Space:
        """The space that its parameters' `to_json` describes."""
        return cls({name: _param(body) for name, body in described.items()})

    def sample(self, rng: Rng) -> dict[str, Any]:
        return {name: param.sample(rng) for name, param in self.items()}

    def first(self, rng: Rng) -> dict[str, Any]:
        """Hyper-parameters for a fresh member."""
        return {n: param.first(rng) if isinstance(param, Float) else param.sample(rng) for n, param in self.items()}

    @property
    def points(self) -> float:
        """How many different hyper-parameters there are: infinitely many with a Float."""
        return math.prod((_points(param) for param in self.values()), start=1)

    def contains(self, hparams: Mapping[str, Any]) -> bool:
        return hparams.keys() == self.keys() and all(param.contains(hparams[name]) for name, param in self.items())

    def encode(self, hparams: Mapping[str, Any]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The place of `hparams` in the unit cube: [param]."""
        return np.array([param.encode(hparams[name]) for name, param in self.items()], dtype=np.float64)

    def decode(self, units: Any) -> dict[str, Any]:
        """The hyper-parameters at a place in the unit cube: [param]."""
        return {name: param.decode(float(unit)) for (name, param), unit in zip(self.items(), units, strict=True)}


def _points(param: Param) -> float:
    if isinstance(param, Int):
        return param.high - param.low + 1
    return len(param.values) if isinstance(param, (Choice, Ordinal)) else math.inf


def _param(body: Mapping[str, Any]) -> Param:
    kind = body["kind"]
    if kind in ("choice", "ordinal"):
        return (Choice if kind == "choice" else Ordinal)(*body["values"])
    if kind in ("int", "int-log"):
        return Int(body["low"], body["high"], log=kind == "int-log")
    start = tuple(body["start"]) if "start" in body else None
    return Float(body["low"], body["high"], log=kind == "log", complement=kind == "1-log", start=start)
