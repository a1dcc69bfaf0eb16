"""The log sink `wandb`: one run of Weights & Biases, with the numbers of every member and of the best lineage."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from typing import Any

import wandb as library

from evolute.core.population import Population, Turn, best, descent
from evolute.logs.bookmark import Bookmark
from evolute.logs.sink import LoggedRun, checked_by
from evolute.logs.values import event_text, scalars


def not_logged_in() -> str | None:
    """Why Weights & Biases would refuse a run, as far as it can be known without its server."""
    offline = ("offline", "disabled", "dryrun", "shared")
    if os.environ.get("WANDB_MODE") in offline or library.setup().settings.mode in offline:
        return None
    try:
        if library.login(prompt=False, verify=False):
            return None
    except TypeError:  # an older version, which cannot be asked without asking the user
        return None
    library.teardown()  # or this process would not see what the user sets next
    return "not logged in to Weights & Biases: run `wandb login`, set WANDB_API_KEY, or log to files with WANDB_MODE=offline"


@checked_by(not_logged_in)
def wandb(run: LoggedRun) -> WandbLog:
    """One run of Weights & Biases, which is continued when the run is resumed. WANDB_MODE=offline works as usual."""
    run.log_folder.mkdir(parents=True, exist_ok=True)
    bookmark = Bookmark.read(run.log_folder / "wandb.json", secrets.token_hex(4))
    config = {key: value for key, (value, _) in run.meta.config.items()}
    remote = library.init(id=bookmark.remote_id, name=run.folder.name, dir=str(run.log_folder), config=config, resume="allow")
    bookmark.write()
    return WandbLog(remote, bookmark)


class WandbLog:
    """Each member's numbers over the steps of its lineage, under `member-0003/score`."""

    def __init__(self, run: Any, bookmark: Bookmark) -> None:
        self._run, self._bookmark = run, bookmark
        self._run.define_metric("*", step_metric="line_steps")

    def turns(self, turns: Sequence[Turn]) -> None:
        for turn in turns:
            if turn.ref in self._bookmark.sent:
                continue
            values = {f"member-{turn.ref.member:04d}/{name}": value for name, value in scalars(turn).items()}
            self._run.log({**({} if turn.failed else values), "line_steps": turn.steps, "turn": turn.ref.turn})
            if (text := event_text(turn)) is not None:
                self.event(text)
            self._bookmark.sent.add(turn.ref)
        self._bookmark.write()

    def event(self, text: str) -> None:
        self._run.alert(title="evolute", text=text) if "failed" in text else self._run.log({"event": text})

    def close(self, population: Population) -> None:
        top = best(population)
        if top is not None:
            for turn in reversed(list(descent(top))):
                values = {f"line-of-best/{name}": value for name, value in scalars(turn).items()}
                self._run.log({**values, "line_steps": turn.steps})
            self._run.summary["score"] = top.score
        self._bookmark.write()
        self._run.finish()
