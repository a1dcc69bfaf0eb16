"""The log sink `csv`: a CSV file with a row for each finished turn."""

from __future__ import annotations

from collections.abc import Sequence
from csv import writer
from pathlib import Path
from typing import TextIO

from evolute.core.population import Population, Turn
from evolute.logs.sink import LoggedRun


def csv(run: LoggedRun) -> CsvLog:
    """`logs/turns.csv` in the run's folder, with a row for each finished turn."""
    return CsvLog(run.log_folder / "turns.csv", list(run.meta.space))


class CsvLog:
    """A row for each turn, a column for each hyper-parameter; all metrics are in one column, as `name=value`."""

    def __init__(self, path: Path, names: Sequence[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = path.open("w", newline="", encoding="utf-8")
        self._names = names
        self._writer = writer(self._file)
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
