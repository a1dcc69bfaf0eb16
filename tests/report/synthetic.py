"""A journal of any size without training: members drift, a quarter of them takes over the weights of the best each turn."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import numpy as np

from evolute.core.durability import Keep
from evolute.core.order import Order, Ref, Report
from evolute.core.param import Choice, Float, Int
from evolute.core.space import Space
from evolute.runs.folders import CHECKPOINTS
from evolute.store.journal import Journal
from evolute.store.meta import RunMeta

SPACE = Space(
    {
        "lr": Float(1e-5, 1e-1, log=True),
        "discount": Float(0.9, 0.9999, complement=True),
        "entropy": Float(0.0, 0.1),
        "epochs": Int(1, 16),
        "activation": Choice("relu", "tanh"),
    }
)
STEPS = 1024
EVIL = "</script><img src=x onerror=alert(1)>$\\frac{"


def meta(
    members: int,
    *,
    ended: str | None = "finished its turns",
    seed: int = 0,
    strategy: str = "pbt",
    policy_suffix: str | None = None,
) -> dict:
    identity = {
        "stop.turns": 10,
        "seed": seed,
        "strategy": [strategy, {}],
        "learner": ["ppo", {}],
        "env": "CartPole-v1",
        "score": "score",
    }
    return {
        "created": time.time(),
        "identity": identity,
        "config": {"learner": ["ppo", "test"], "env": ["CartPole-v1", "test"]},
        "population": members,
        "learner": "ppo",
        "strategy": strategy,
        "mode": "sync",
        "space": {name: param.to_json() for name, param in SPACE.items()},
        "keep": Keep(),
        "horizon": None,
        "ended": ended,
        "policy_suffix": policy_suffix,
    }


def synthetic(folder: Path, members: int, turns: int, *, seed: int = 0, bayesian: bool = False, **more) -> Path:
    """A run folder with this many members and turns; a few turns fail."""
    rng = np.random.default_rng(seed)
    (folder / CHECKPOINTS).mkdir(parents=True)
    with contextlib.closing(Journal.create(folder, RunMeta(**meta(members, seed=seed, **more)))) as journal:
        hparams = [SPACE.sample(rng) for _ in range(members)]
        starts: list[Ref | None] = [None] * members
        scores = np.zeros(members)
        for turn in range(turns):
            orders, reports = [], []
            order_of = np.argsort(-scores)
            fraction = members // 4 if turn else 0
            heirs = dict(zip(order_of[members - fraction :].tolist(), order_of[:fraction].tolist(), strict=True))
            before = scores.copy()
            for slot in range(members):
                why = {} if turn else {"event": "init"}
                if slot in heirs:
                    donor = heirs[slot]
                    hparams[slot] = {name: param.perturb(hparams[donor][name], rng) for name, param in SPACE.items()}
                    start, why, scores[slot] = Ref(donor, turn - 1), {"event": "inherit"}, before[donor]
                    if bayesian:
                        why |= _proposal(turn, rng)
                else:
                    start = starts[slot]
                orders.append(Order(slot, turn, dict(hparams[slot]), start=start, steps=STEPS, seed=turn, why=why))
            for order in orders:
                slot = order.member
                if turn and rng.random() < 0.001:
                    reports.append(Report(order, error="Traceback\nValueError: unlucky", seconds=0.1))
                    continue
                unit = SPACE["lr"].encode(order.hparams["lr"])
                scores[slot] += 1 - abs(unit - 0.6) * 2 + rng.normal(0, 0.2)
                starts[slot] = order.ref
                found = {"score": float(scores[slot]), "loss": float(rng.random())}
                reports.append(Report(order, found, STEPS, digest="0" * 32, seconds=0.1))
            journal.decide(turn, orders, {})
            journal.record(reports, 0.5 * (turn + 1))
    return folder


def _proposal(turn: int, rng: np.random.Generator) -> dict:
    """What a Bayesian strategy says of an heir's values."""
    return {
        "gain": float(rng.normal(0.5, 0.2)),
        "uncertainty": 0.3,
        "model": {"rows": turn, "noise": 0.1},
        "region": {"side": 0.4, "radius": 1.0, "restarts": 0, "restarted": False},
        "weights": {"activation": {"relu": 0.6, "tanh": 0.4}},
    }


def hostile(parent: Path) -> Path:
    """A run whose every name and value is trouble."""
    folder = parent / "<img src=x onerror=alert(2)>"
    (folder / CHECKPOINTS).mkdir(parents=True)
    described = meta(2)
    described["space"] = {EVIL: {"kind": "choice", "values": [EVIL, "$x$"]}}
    journal = Journal.create(folder, RunMeta(**{**described, "learner": EVIL, "strategy": EVIL}))
    for turn in range(3):
        orders = [Order(slot, turn, {EVIL: EVIL}, steps=1, why={"weights": {EVIL: {EVIL: 0.5}}}) for slot in range(2)]
        journal.decide(turn, orders, {})
        journal.record([Report(orders[0], {"score": 1.0 + turn}, 1), Report(orders[1], error=EVIL)], turn + 1.0)
    journal.note("restore", text=EVIL)
    journal.close()
    return folder
