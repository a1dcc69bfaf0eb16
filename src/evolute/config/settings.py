"""The settings of a run that belong to no plug-in: each with its type, default and meaning, in one table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge, Gt
from pydantic import BeforeValidator

from evolute.core.amounts import count, duration
from evolute.core.durability import Keep


def keep(value: Any) -> Keep:
    """Which checkpoints stay: `last 2, best, lineage-of-best, every 10`."""
    if isinstance(value, Keep):
        return value
    words = value if isinstance(value, list) else str(value).split(",")
    chosen: dict[str, Any] = {"last": 1, "best": 0}
    for word in (str(word).strip() for word in words):
        found = re.fullmatch(r"(last|best|every)(?:\s+(\d+))?|lineage-of-best", word)
        if found is None or (found[1] == "every" and found[2] is None):
            raise ValueError(f"{word!r} is none of: last, last N, best, best N, lineage-of-best, every N")
        if found[1] in ("last", "every") and int(found[2] or 1) < 1:
            raise ValueError(f"{word!r} would keep nothing: the number must be at least 1")
        chosen |= {found[1]: int(found[2] or 1)} if found[1] else {"lineage": True}
    return Keep(**chosen)


def name(value: Any) -> Any:
    """A word that can begin a folder's name."""
    if isinstance(value, str) and (not value or value.startswith(".") or "/" in value or "\0" in value):
        raise ValueError("is to be a folder's name: not empty, without a slash, and not hidden by a leading dot")
    return value


def logs(value: Any) -> Any:
    """Names of logs: a list, or `tensorboard,csv`."""
    names = [str(name).strip() for name in (value.split(",") if isinstance(value, str) else value)]
    for name in names:
        if name not in LOGS:
            raise ValueError(f"{name!r} is none of: {', '.join(LOGS)}")
    return list(dict.fromkeys(names))


LOGS = ("tensorboard", "csv", "wandb", "mlflow")
Count = Annotated[int, BeforeValidator(count), Gt(0)]
Seconds = Annotated[float, BeforeValidator(duration), Gt(0)]


@dataclass(frozen=True)
class Field:
    """One setting: its type, its default, and what it means."""

    type: Any
    default: Any
    meaning: str


FIELDS: dict[str, Field] = {
    "learner": Field(Any, None, "what trains the members: a shipped learner, package.module:name, or in Python a function"),
    "strategy": Field(Any, "pbt", "what decides who inherits and which hyper-parameters come next"),
    "engine": Field(Any, "inline", "where the members train"),
    "workers": Field(Annotated[int, Gt(0)] | None, None, "how many workers train at once, for engines that have several"),
    "env": Field(str | None, None, "the environment, for learners that need one"),
    "wrap.time_limit": Field(Count | None, None, "end episodes of the environment after so many steps (a truncation)"),
    "wrap.action_repeat": Field(Annotated[int, Gt(0)], 1, "take each action so many times; rewards are summed"),
    "wrap.frame_stack": Field(Annotated[int, Gt(0)], 1, "show the last so many observations together"),
    "wrap.obs_scale": Field(float, 1.0, "multiply observations by this"),
    "wrap.reward_scale": Field(float, 1.0, "multiply rewards by this, in scores too (ppo.reward_scale is for learning only)"),
    "population": Field(Annotated[int, Gt(0)], 8, "how many members there are"),
    "interval": Field(Count, 1, "steps of each member per turn; 500k and 25M are understood; in an environment 10k by default"),
    "stop.turns": Field(Count | None, None, "end after so many turns of each member"),
    "stop.steps": Field(Count | None, None, "end after so many steps of each member; `steps` is short for it"),
    "stop.time": Field(Seconds | None, None, "end after so much time: seconds, or 10m, 2h, 1d"),
    "stop.score": Field(float | None, None, "end when a member reaches this score"),
    "mode": Field(Literal["sync", "async"], "sync", "sync: all members finish a turn before the next; async: nobody waits"),
    "seed": Field(Annotated[int, Ge(0)], 0, "all chance in the run follows from this number"),
    "score": Field(str, "score", "the metric to maximise; -loss minimises the metric loss"),
    "init.hparams": Field(list[dict[str, Any]], [], "hyper-parameters that the first members start with"),
    "init.from": Field(str | None, None, "a run whose best state all members begin with; its folder"),
    "init.turn": Field(
        Annotated[int, Ge(0)] | None, None, "with init.from: go on with its whole population as it was after this turn, a fork"
    ),
    "limit": Field(Seconds | None, None, "how long a turn of one member may take before it counts as failed"),
    "durable": Field(
        Literal["auto"] | Annotated[int, Gt(0)],
        "auto",
        "save states every so many turns; auto: as often as 1 % of the time allows",
    ),
    "keep": Field(
        Annotated[Keep, BeforeValidator(keep)],
        "last 2, best",
        "checkpoints that stay: last N, best N, lineage-of-best, every N",
    ),
    "log": Field(
        Annotated[list[str], BeforeValidator(logs)],
        [],
        "logs for other tools, in the run's folder: tensorboard, csv, wandb, mlflow; several with commas",
    ),
    "runs": Field(str, "runs", "the folder in which new run folders are made"),
    "name": Field(
        Annotated[str, BeforeValidator(name)] | None,
        None,
        "the first part of a new run folder's name; by default the preset's or learner's",
    ),
}
PLUGINS = {"learner": "learners", "strategy": "strategies", "engine": "engines"}
