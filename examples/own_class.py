"""A learner whose state is an object of your own: a class with train, save and load.

Here the object is a small neural network that learns a sine. What `save` writes to the folder is all that Evolute keeps of
a state, so it can be anything: a framework's own checkpoint, a zip file, a replay buffer.

    python examples/own_class.py
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import evolute

INPUTS = np.linspace(-3, 3, 200)[:, None]
TARGETS = np.sin(2 * INPUTS)


class Network:
    """One hidden layer, trained by gradient descent on the mean squared error."""

    def __init__(self, weights: list[np.ndarray]) -> None:
        self.weights = weights

    @classmethod
    def fresh(cls, rng: np.random.Generator, width: int = 32) -> Network:
        return cls([rng.normal(0, 1, (1, width)), rng.normal(0, 1, width), rng.normal(0, 0.1, (width, 1)), np.zeros(1)])

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        return self.hidden(inputs) @ self.weights[2] + self.weights[3]

    def hidden(self, inputs: np.ndarray) -> np.ndarray:
        return np.tanh(inputs @ self.weights[0] + self.weights[1])

    def descend(self, inputs: np.ndarray, targets: np.ndarray, lr: float) -> None:
        hidden = self.hidden(inputs)
        error = (self(inputs) - targets) / len(inputs)
        back = (error @ self.weights[2].T) * (1 - hidden**2)
        gradients = [inputs.T @ back, back.sum(0), hidden.T @ error, error.sum(0)]
        self.weights = [weights - lr * gradient for weights, gradient in zip(self.weights, gradients, strict=True)]


class SineLearner:
    """What Evolute is given: how to train a network, and how to save and load one."""

    repeatable = True
    """A promise that all chance comes from the seed; without it every state is saved, since it could not be made again."""

    def train(self, state: Network | None, hparams: dict[str, Any], steps: int, seed: int) -> tuple[Network, dict[str, float]]:
        rng = np.random.default_rng(seed)
        network = Network.fresh(rng) if state is None else state
        for _ in range(steps):
            rows = rng.integers(len(INPUTS), size=hparams["batch"])
            network.descend(INPUTS[rows], TARGETS[rows], hparams["lr"])
        loss = float(np.mean((network(INPUTS) - TARGETS) ** 2))
        return network, {"score": -loss}

    def save(self, state: Network, folder: Path) -> None:
        np.savez(folder / "network.npz", *state.weights)

    def load(self, folder: Path) -> Network:
        with np.load(folder / "network.npz") as arrays:
            return Network(list(arrays.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--runs", default="runs", help="the folder for the run folder")
    options = parser.parse_args()

    run = evolute.run(
        SineLearner,
        space={"lr": "log[1e-3, 1]", "batch": "ordinal[8, 32, 128]"},
        population=8,
        interval=100,
        stop={"turns": options.turns},
        runs=options.runs,
    )
    best = run.best
    print(f"best: member {best.member}, mean squared error {-best.score:.5f}, hyper-parameters {dict(best.hparams)}")
    network = best.state
    for place in (-2.0, 0.5, 2.0):
        print(f"  network({place:4}) = {network(np.array([[place]])).item():7.4f}   the sine is {np.sin(2 * place):7.4f}")


if __name__ == "__main__":
    main()
