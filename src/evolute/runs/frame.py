"""A run's turns as a pandas DataFrame: one row per finished turn, with everything the journal knows of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from evolute.runs.turns import FRESH, TurnTable

if TYPE_CHECKING:
    import pandas


def frame(table: TurnTable) -> pandas.DataFrame:
    """The table as a DataFrame; hyper-parameters and metrics are columns `hparams.<name>` and `metrics.<name>`."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("run.frame() needs pandas: pip install 'evolute[frame]'") from error

    parents = np.where(table.parent == FRESH, 0, table.parent)
    fresh = table.parent == FRESH
    columns: dict[str, Any] = {
        "member": table.member,
        "turn": table.turn,
        "score": table.score,
        "steps": table.steps,
        "line_steps": table.line_steps,
        "member_steps": table.member_steps,
        "seconds": table.seconds,
        "elapsed": table.elapsed,
        "start_member": pandas.array(table.member[parents], dtype="Int64") if len(table) else [],
        "start_turn": pandas.array(table.turn[parents], dtype="Int64") if len(table) else [],
        "event": [why.get("event") for why in table.why],
        "failed": table.failed,
        "error": [table.errors.get(row) for row in range(len(table))],
        "winner": np.isin(np.arange(len(table)), table.best_line),
    }
    made = pandas.DataFrame(columns)
    made.loc[fresh, ["start_member", "start_turn"]] = pandas.NA
    hparams = pandas.DataFrame(list(table.hparams), index=made.index).add_prefix("hparams.")
    metrics = pandas.DataFrame([json.loads(text) for text in table.metrics], index=made.index).add_prefix("metrics.")
    return pandas.concat([made, hparams, metrics], axis=1)
