"""Does evolution turn a reward down that misleads, in a game that runs by itself?

    python benchmarks/channels.py --seeds 101 102 103 104 105

A hunter on a line is paid for catching its prey, and, by a channel of its own, for standing still: with a large weight on
that channel it learns to rest, and catches nobody. Members begin with weights from all over a wide range, train by PPO, and are
compared by `score=win`, the result that the game reports. Beside the weight they have a gene of the same range without any
effect, which begins with the same values: what moves it is chance.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from evolute.games import Game

MEMBERS, TURNS, INTERVAL = 8, 20, 8192
LOW, HIGH = 1e-3, 1.0
WEIGHT, NEUTRAL = "reward.rest", "augmentation_weight"
TICKS, REACH = 30, 0.15


class Pursuit(Game):
    """Hunter and prey on a line. The game asks each for its next move, and moves when both have answered."""

    seats, channels, repeatable = ("hunter", "prey"), ("catch", "rest"), True
    observation_space = gymnasium.spaces.Box(-4, 4, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)

    def rule(self, name: str, obs: Any) -> int:
        """The prey runs away, but it is slower."""
        return 2 if obs[0] > obs[1] else 0

    async def play(self, seats: Mapping[str, Any], seed: int) -> dict[str, dict[str, float]]:
        where = np.random.default_rng(seed).uniform(-1, 1, 2)
        caught = 0.0
        for _ in range(TICKS):
            views = (where[[0, 1]], where[[1, 0]])
            moves = await asyncio.gather(*(seat.act(view) for seat, view in zip(seats.values(), views, strict=True)))
            where = np.clip(where + np.array([0.12, 0.05]) * (np.array(moves) - 1), -4, 4)
            seats["hunter"].reward(rest=float(moves[0] == 1))
            if abs(where[0] - where[1]) < REACH:
                caught = 1.0
                break
        seats["hunter"].reward(catch=caught)
        return {"hunter": {"win": caught}, "prey": {"win": 1 - caught}}


def dealt(seed: int) -> list[dict[str, float]]:
    """The same values for both genes, in the middle of equal parts of the range, each dealt in an order of its own."""
    rng = np.random.default_rng(seed)
    values = LOW * (HIGH / LOW) ** ((np.arange(MEMBERS) + 0.5) / MEMBERS)
    genes = {name: rng.permutation(values) for name in (WEIGHT, NEUTRAL)}
    return [{name: float(values[member]) for name, values in genes.items()} for member in range(MEMBERS)]


def evolved(seed: int, folder: Path, turns: int) -> tuple[float, float, float]:
    """What the means of weight and neutral gene came to, in parts of their first ones, and the best member's wins."""
    import evolute

    first = dealt(seed)
    run = evolute.run(
        "ppo",
        env=f"{Path(__file__).stem}:Pursuit",
        score="win",
        strategy="pbt",
        population=MEMBERS,
        interval=INTERVAL,
        stop={"turns": turns},
        seed=seed,
        folder=folder,
        display="none",
        init={"hparams": first},
        Pursuit={"plays": "hunter"},
        reward={"rest": f"log[{LOW}, {HIGH}]"},
        ppo={NEUTRAL: f"log[{LOW}, {HIGH}]", "lr": 1e-3, "envs": 16, "unroll": 64, "minibatches": 8},
    )
    last = [run.member(slot).hparams for slot in range(MEMBERS)]

    def left(name: str) -> float:
        return float(np.mean([one[name] for one in last]) / np.mean([one[name] for one in first]))

    return left(WEIGHT), left(NEUTRAL), float(run.best.score or 0)


def measure(seeds: Sequence[int], turns: int) -> None:
    print("| seed | weight of resting, of its first mean | neutral gene, of its first mean | the best catches |")
    print("|---|---|---|---|")
    weights = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            weight, neutral, wins = evolved(seed, Path(folder) / "run", turns)
        weights.append(weight)
        print(f"| {seed} | {weight:.2%} | {neutral:.0%} | {wins:.0%} |", flush=True)
    print(f"largest share that is left of the weight: {max(weights):.1%} (passes below 20 %)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--turns", type=int, default=TURNS)
    chosen = parser.parse_args()
    measure(chosen.seeds, chosen.turns)


if __name__ == "__main__":
    main()
