"""The smallest learner of your own: one function that takes a state and hyper-parameters and returns a better state.

Here it is stochastic gradient descent on a noisy quadratic. A large learning rate is best at first and a small one at the
end, so that no fixed value is good throughout: the population finds a schedule.

    python examples/own_function.py
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import evolute

CURVATURE = np.logspace(-2, 0, 20)
NOISE = 0.3


def train(state: Any, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Any, dict[str, float]]:
    """`steps` steps of descent with momentum. A state of None asks for a fresh one; all chance comes from the seed."""
    rng = np.random.default_rng(seed)
    if state is None:
        state = {"weights": np.full(20, 3.0), "velocity": np.zeros(20)}
    weights, velocity = state["weights"], state["velocity"]
    for _ in range(steps):
        gradient = CURVATURE * weights + rng.normal(0, NOISE, 20)
        velocity = hparams["momentum"] * velocity - hparams["lr"] * gradient
        weights = weights + velocity
    loss = 0.5 * float(CURVATURE @ weights**2)
    return {"weights": weights, "velocity": velocity}, {"score": -loss}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=30)
    parser.add_argument("--runs", default="runs", help="the folder for the run folder")
    options = parser.parse_args()

    run = evolute.run(
        train,
        space={"lr": "log[1e-4, 1]", "momentum": [0, 0.95]},
        population=16,
        interval=20,
        stop={"turns": options.turns},
        runs=options.runs,
    )
    best = run.best
    print(f"best: member {best.member}, score {best.score:.4f}, largest weight {np.abs(best.state['weights']).max():.3f}")
    print("its schedule:")
    for number, turn in enumerate(best.lineage):
        lr, momentum = turn.order.hparams["lr"], turn.order.hparams["momentum"]
        print(f"  turn {number:2}  lr {lr:.5f}  momentum {momentum:.2f}  score {turn.score:9.4f}")


if __name__ == "__main__":
    main()
