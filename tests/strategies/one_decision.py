"""One decision of a Bayesian strategy in a process of its own: prints its processor seconds and its orders as JSON.

python one_decision.py pb2_mix
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from populations import STEPS, evolved

from evolute import strategies
from evolute.core.param import Choice, Float, Int, Ordinal
from evolute.core.protocols import Plan
from evolute.core.space import Space

SPACE = Space(
    {
        "width": Ordinal(8, 16, 32, 64),
        "act": Choice("a", "b", "c"),
        "discount": Float(0.8, 0.9999, complement=True),
        "epochs": Int(1, 64, log=True),
    }
)
MEMBERS, TURNS = 6, 40


def main(name):
    rng = np.random.default_rng(0)
    scores = np.cumsum(rng.normal(size=(TURNS, MEMBERS)), axis=0).tolist()
    population = evolved(*scores, hparams=lambda slot: SPACE.sample(rng))
    strategy = getattr(strategies, name)(Plan(SPACE, MEMBERS, STEPS, 2 * TURNS), quantile=0.5)
    strategy.step(strategy.init(), evolved([1.0] * MEMBERS), [], rng)  # imports
    started = time.process_time()
    _, orders = strategy.step(strategy.init(), population, range(MEMBERS), rng)
    print(json.dumps({"seconds": time.process_time() - started, "orders": [order.to_json() for order in orders]}))


if __name__ == "__main__":
    main(sys.argv[1])
