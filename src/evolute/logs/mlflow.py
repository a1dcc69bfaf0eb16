"""The log sink `mlflow`: one run of MLflow, with the numbers of every member and of the best lineage."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from mlflow.tracking import MlflowClient

from evolute.core.population import Population, Turn, best, descent
from evolute.logs.bookmark import Bookmark
from evolute.logs.sink import LoggedRun
from evolute.logs.values import scalars

LONGEST = 500
"""MLflow's limit for the length of a parameter."""


def mlflow(run: LoggedRun) -> MlflowLog:
    """One run of MLflow, at MLFLOW_TRACKING_URI or else in a database in the run's folder."""
    folder = run.log_folder / "mlflow"
    folder.mkdir(parents=True, exist_ok=True)
    client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder.resolve()}/mlflow.db")
    bookmark = Bookmark.read(run.log_folder / "mlflow.json", "")
    if not bookmark.remote_id:
        existing = client.get_experiment_by_name("evolute")
        experiment = client.create_experiment("evolute") if existing is None else existing.experiment_id
        bookmark.remote_id = client.create_run(experiment, run_name=run.folder.name).info.run_id
        for key, (value, _) in run.meta.config.items():
            client.log_param(bookmark.remote_id, key, str(value)[:LONGEST])
        bookmark.write()
    return MlflowLog(client, bookmark)


class MlflowLog:
    """Each member's numbers by turn, under `member-0003/score`, and those of the best lineage when the run ends."""

    def __init__(self, client: Any, bookmark: Bookmark) -> None:
        self._client, self._bookmark = client, bookmark

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.ref in self._bookmark.sent:
                continue
            if not turn.failed:
                self._log(f"member-{turn.ref.member:04d}", turn, turn.ref.turn)
            self._bookmark.sent.add(turn.ref)
        self._bookmark.write()

    def event(self, text: str) -> None:
        self._client.set_tag(self._bookmark.remote_id, "last event", text[:LONGEST])

    def close(self, population: Population) -> None:
        top = best(population)
        if top is not None:
            for place, turn in enumerate(reversed(list(descent(top)))):
                self._log("line-of-best", turn, place)
        self._bookmark.write()
        self._client.set_terminated(self._bookmark.remote_id)

    def _log(self, prefix: str, turn: Turn, step: int) -> None:
        for name, value in scalars(turn).items():
            self._client.log_metric(self._bookmark.remote_id, f"{prefix}/{name}", value, step=step)
