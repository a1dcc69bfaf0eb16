"""Learners that cannot repeat themselves: a function, and a class with save and load."""

from __future__ import annotations

import secrets
from pathlib import Path


def train(state, hparams, steps, seed):
    past = [] if state is None else state["past"]
    luck = secrets.randbelow(10**9) / 1e9
    return {"past": [*past, luck]}, {"score": hparams["h"] + luck, "luck": luck}


class Diary:
    """Keeps its state as an object and writes it as text."""

    def train(self, state, hparams, steps, seed):
        past, metrics = train(None if state is None else {"past": state.past}, hparams, steps, seed)
        return Pages(past["past"]), metrics

    def save(self, state, folder: Path):
        (folder / "deep").mkdir()
        (folder / "deep" / "diary.txt").write_text("\n".join(map(str, state.past)))

    def load(self, folder: Path):
        return Pages([float(line) for line in (folder / "deep" / "diary.txt").read_text().splitlines()])


class Pages:
    def __init__(self, past):
        self.past = past
