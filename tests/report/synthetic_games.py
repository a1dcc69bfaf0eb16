"""A journal of a game of any size without training: members of fixed strengths, which play each other and a bot."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
from tests.report.synthetic import SPACE, meta

from evolute.core.order import Match, Order, Ref, Report
from evolute.ratings.scale import win_probability
from evolute.runs.folders import CHECKPOINTS
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

GAMES = 32
POOL = 32
POINTS = 20.0
"""How much stronger each member is than the one before it."""


def league(folder: Path, members: int, turns: int, *, seed: int = 0) -> Path:
    """Each turn a member plays the newest states of two others, one of the pool, and the bot `random`, which is rated 0."""
    rng = np.random.default_rng(seed)
    (folder / CHECKPOINTS).mkdir(parents=True)
    strength = POINTS * np.arange(members)
    hparams = SPACE.sample(rng)
    pool: list[Ref] = []
    with contextlib.closing(Journal.create(folder, RunMeta(**meta(members, seed=seed)))) as journal:
        for turn in range(turns):
            rated = [{} if not turn else {"rating": [float(rating), 30.0]} for rating in strength + turn]
            starts = [Ref(slot, turn - 1) if turn else None for slot in range(members)]
            orders = [
                Order(slot, turn, hparams, start=starts[slot], steps=1, seed=1, why=rated[slot]) for slot in range(members)
            ]
            journal.decide(turn, orders, {"pool": [list(ref) for ref in pool]})
            reports = [_report(order, pool, strength, rng) for order in orders]
            journal.record(reports, turn + 1.0)
            pool = [*pool, Ref(int(rng.integers(members)), turn)][-POOL:]
        journal.put(ratings=[[slot, turns - 1, float(strength[slot] + turns), 30.0] for slot in range(members)])
    return folder


def _report(order: Order, pool: list[Ref], strength: np.ndarray, rng: np.random.Generator) -> Report:
    others: list[Ref | str] = ["random"]
    if order.turn:
        met = rng.choice([slot for slot in range(len(strength)) if slot != order.member], size=2, replace=False)
        others += [*(Ref(int(slot), order.turn - 1) for slot in met), pool[int(rng.integers(len(pool)))]]
    matches = []
    for other in others:
        theirs = 0.0 if isinstance(other, str) else strength[other.member]
        won = rng.binomial(GAMES, win_probability(strength[order.member] - theirs))
        matches.append(Match((other,), float(won) / GAMES, GAMES, 0.0))
    return Report(order, {}, 1, tuple(matches), digest="0" * 32)
