"""A log as a CSV file, one line per finished turn."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from evolute.core.population import Population, Turn
from evolute.logs.log import Opening


class CsvLog:
    """`logs/turns.csv`, with a column for each hyper-parameter; metrics stand in one column as they come, `name=value`."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("w", newline="", encoding="utf-8")
        self._names = names
        self._writer = csv.writer(self._file)
        fixed = ["member", "turn", "score", "steps", "line_steps", "seconds", "start_member", "start_turn", "event", "error"]
        self._writer.writerow([*fixed, *(f"hparams.{name}" for name in names), "metrics"])

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            start = turn.order.start or (None, None)
            metrics = " ".join(f"{name}={value}" for name, value in turn.report.metrics.items())
            self._writer.writerow(
                [
                    *turn.ref,
                    turn.score,
                    turn.report.steps,
                    turn.steps,
                    round(turn.report.seconds, 6),
                    *start,
                    turn.order.why.get("event"),
                    turn.report.reason if turn.failed else None,
                    *(turn.order.hparams.get(name) for name in self._names),
                    metrics,
                ]
            )
        self._file.flush()

    def event(self, text: str) -> None:
        return

    def close(self, population: Population) -> None:
        self._file.close()


def open_log(opening: Opening) -> CsvLog:
    return CsvLog(opening.place / "turns.csv", list(opening.meta.space))
