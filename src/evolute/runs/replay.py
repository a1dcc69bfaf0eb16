"""Trains one fresh agent along a line of descent of an existing run, and says whether it came out the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evolute.config.error import ConfigError
from evolute.config.layers import Layer, Setting
from evolute.core.population import Turn
from evolute.core.steering import widest
from evolute.runs.result import Agent, Run
from evolute.runs.schedule import schedule_rows
from evolute.runs.session import Launch, launch
from evolute.runs.states import choices_of, remembered


@dataclass(frozen=True)
class Replayed:
    """The new run, and how many turns of the line ended in the very same state; None if that was not asked for."""

    run: Run
    line: list[Turn]
    same: int | None


def replay(agent: Agent, how: Launch, *, exact: bool, seed: int | None, layers: Sequence[Layer] = ()) -> Replayed:
    """A run of one member along the agent's line of descent, with its teachers; `exact` takes its seeds too."""
    line = agent.lineage
    if exact:
        _check_alone(line)
    config = remembered(agent.folder, [_layer(agent.folder, line, exact=exact, seed=seed), *layers])
    run = launch(config, replace(how, choices=choices_of(agent.folder, layers)))
    if not exact:
        return Replayed(run, line, None)
    made = [turn.report.digest for turn in run.member(0).lineage]
    same = [one == turn.report.digest for one, turn in zip(made, line, strict=False)]
    return Replayed(run, line, same.index(False) if False in same else len(same))


def _check_alone(line: list[Turn]) -> None:
    for turn in line:
        if others := set(turn.order.links) - {turn.order.start, turn.order.teacher}:
            raise ConfigError(
                f"turn {turn.ref.turn} of member {turn.ref.member} also used {', '.join(map(str, sorted(others)))}: "
                "such a line cannot be replayed exactly by one agent; leave --exact out"
            )


def _layer(folder: Path, line: list[Turn], *, exact: bool, seed: int | None) -> Layer:
    config = remembered(folder)
    ranges = widest(config.space, Run.open(folder).answers)
    teachers = sorted({turn.order.teacher for turn in line if turn.order.teacher is not None})
    chosen: dict[str, Any] = {
        "strategy": "schedule",
        "schedule.rows": schedule_rows(line, seeds=exact, teachers=teachers),
        "population": 1,
        "stop": None,
        "stop.turns": len(teachers) + len(line),
        "init": None,
        **({"init.from": str(folder), "init.teachers": [list(ref) for ref in teachers]} if teachers else {}),
        **{f"{config.learner.name}.{name}": str(param) for name, param in ranges.items()},
        "mode": "sync",
        "name": f"{folder.resolve().name}-replay",
        "seed": config.settings.seed + (0 if exact else 1) if seed is None else seed,
    }
    return {key: Setting(value, "replay") for key, value in chosen.items()}
