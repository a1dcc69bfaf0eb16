"""The command `fork`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evolute.cli.run import train_and_conclude
from evolute.config.layers import Setting, override
from evolute.runs.session import Launch, launch
from evolute.runs.states import choices_of, remembered


def fork(folder: Path, turn: int, *, target: Path | None, overrides: Sequence[str]) -> None:
    """Train a new run from the population of another as it was after a turn."""
    start = {"init.from": str(folder), "init.turn": turn, "name": f"{folder.resolve().name}-fork"}
    layers = [{key: Setting(value, "fork") for key, value in start.items()}, *map(override, overrides)]
    config = remembered(folder, layers)
    how = Launch(folder=target, new=target is None, choices=choices_of(folder, layers))
    train_and_conclude(lambda display: launch(config, display.watching(how)), as_json=False)
