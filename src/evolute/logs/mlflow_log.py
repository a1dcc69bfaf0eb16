"""A log for MLflow: one of its runs for a run; without MLFLOW_TRACKING_URI it is kept in a database in the run's folder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from evolute.core.population import Population, Turn, best, descent
from evolute.logs.log import Opening, scalars
from evolute.logs.mark import Mark

MOST = 500
"""How long a parameter's text may be, by MLflow's own limit."""


class MlflowLog:
    """Each member's numbers by turn, under `member-0003/score`, and those of the best line when the run ends."""

    def __init__(self, client: Any, mark: Mark) -> None:
        self._client, self._mark = client, mark

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.ref in self._mark.done:
                continue
            if not turn.failed:
                self._log(f"member-{turn.ref.member:04d}", turn, turn.ref.turn)
            self._mark.done.add(turn.ref)
        self._mark.write()

    def event(self, text: str) -> None:
        self._client.set_tag(self._mark.name, "last event", text[:MOST])

    def close(self, population: Population) -> None:
        top = best(population)
        if top is not None:
            for place, turn in enumerate(reversed(list(descent(top)))):
                self._log("line-of-best", turn, place)
        self._mark.write()
        self._client.set_terminated(self._mark.name)

    def _log(self, prefix: str, turn: Turn, step: int) -> None:
        for name, value in scalars(turn).items():
            self._client.log_metric(self._mark.name, f"{prefix}/{name}", value, step=step)


def open_log(opening: Opening) -> MlflowLog:
    from mlflow.tracking import MlflowClient

    place = opening.place / "mlflow"
    place.mkdir(parents=True, exist_ok=True)
    client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{place.resolve()}/mlflow.db")
    mark = Mark.read(opening.place / "mlflow.json", "")
    if not mark.name:
        found = client.get_experiment_by_name("evolute")
        experiment = client.create_experiment("evolute") if found is None else found.experiment_id
        mark.name = client.create_run(experiment, run_name=opening.folder.name).info.run_id
        for key, (value, _) in opening.meta.config.items():
            client.log_param(mark.name, key, str(value)[:MOST])
        mark.write()
    return MlflowLog(client, mark)
