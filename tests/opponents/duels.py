"""A game of skill for training functions, and runs of it."""

from __future__ import annotations

import numpy as np

import evolute
from evolute.store.journal import Journal

GAMES = 200


def duel(state, hparams, steps, seed, opponents):
    """Skill grows by the learning rate; the better one wins more often. None is the member itself."""
    rng = np.random.default_rng(seed)
    skill = (0.0 if state is None else state["skill"]) + hparams["lr"] * steps * rng.uniform(0.9, 1.1)
    results = []
    for other in opponents:
        if other is None:
            results.append(None)
            continue
        theirs = 0.0 if other == "random" else other["skill"]
        results.append((rng.binomial(GAMES, 1 / (1 + np.exp(theirs - skill))) / GAMES, GAMES))
    return {"skill": skill}, {"results": results}


SETTINGS = {
    "strategy": "pbt",
    "opponents": "history",
    "space": {"lr": evolute.Float(0.01, 0.3, log=True)},
    "population": 4,
    "interval": 2,
    "display": "none",
}


def run(folder, *, turns=8, live=0.25, **settings):
    given = {**SETTINGS, "folder": folder, "stop": {"turns": turns}, "opponents.live": live, **settings}
    return evolute.run(duel, **given)


def canonical(folder):
    journal = Journal.read(folder)
    dump = journal.canonical()
    journal.close()
    return dump
