"""Results of long measurements, a JSON line for each, so that one that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Result = dict[str, Any]


@dataclass(frozen=True)
class Kept:
    """A file of results, which several processes may add to."""

    path: Path

    def all(self) -> list[Result]:
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def add(self, result: Result) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)

    def missing(self, asked: Result, seeds: Sequence[int]) -> list[int]:
        """The seeds for which there is no such result yet."""
        known = {one["seed"] for one in self.all() if asked.items() <= one.items()}
        return [seed for seed in seeds if seed not in known]

    def grouped(self, names: Sequence[str]) -> dict[tuple[Any, ...], list[Result]]:
        """Results that have all of these entries, by their values; those of a group in order of their seeds."""
        groups: dict[tuple[Any, ...], list[Result]] = {}
        for one in sorted((one for one in self.all() if {*names} <= {*one}), key=lambda one: one["seed"]):
            groups.setdefault(tuple(one[name] for name in names), []).append(one)
        return dict(sorted(groups.items()))
