"""A log for Weights & Biases: one of its runs for a run, with the numbers of every member and of the best line.

WANDB_MODE=offline and its other variables work as they always do.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

from evolute.core.population import Population, Turn, best, descent
from evolute.logs.log import Opening, scalars, told
from evolute.logs.mark import Mark


class WandbLog:
    """Each member's numbers over the steps of its line, under `member-0003/score`."""

    def __init__(self, run: Any, mark: Mark) -> None:
        self._run, self._mark = run, mark
        self._run.define_metric("*", step_metric="line_steps")

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.ref in self._mark.done:
                continue
            values = {f"member-{turn.ref.member:04d}/{name}": value for name, value in scalars(turn).items()}
            self._run.log({**({} if turn.failed else values), "line_steps": turn.steps, "turn": turn.ref.turn})
            if (text := told(turn)) is not None:
                self.event(text)
            self._mark.done.add(turn.ref)
        self._mark.write()

    def event(self, text: str) -> None:
        self._run.alert(title="evolute", text=text) if "failed" in text else self._run.log({"event": text})

    def close(self, population: Population) -> None:
        top = best(population)
        if top is not None:
            for turn in reversed(list(descent(top))):
                values = {f"line-of-best/{name}": value for name, value in scalars(turn).items()}
                self._run.log({**values, "line_steps": turn.steps})
            self._run.summary["score"] = top.score
        self._mark.write()
        self._run.finish()


def open_log(opening: Opening) -> WandbLog:
    import wandb

    opening.place.mkdir(parents=True, exist_ok=True)
    mark = Mark.read(opening.place / "wandb.json", secrets.token_hex(4))
    config = {key: value for key, (value, _) in opening.meta.config.items()}
    run = wandb.init(id=mark.name, name=opening.folder.name, dir=str(opening.place), config=config, resume="allow")
    mark.write()
    return WandbLog(run, mark)
