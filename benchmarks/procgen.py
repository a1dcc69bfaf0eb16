"""DrAC-PPO on a Procgen game with a tiny budget, against random play on the same levels.

python benchmarks/procgen.py                          # fruitbot, 98,304 steps, about six minutes
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence

import numpy as np

import evolute
from evolute.envs.make import make_env
from evolute.envs.spec import EnvSpec

TINY = {"network": "cnn", "widths": [64], "activation": "relu", "envs": 16, "unroll": 32, "epochs": 2, "minibatches": 4}
TOLD = {"lr": 1e-3, "entropy": 0.01, "discount": 0.99, "normalize_reward": True, "augmentation_weight": 0.1}


def random_play(game: str, levels: int, episodes: int = 200) -> list[float]:
    """Returns of uniformly random actions."""
    vector = make_env(EnvSpec(f"procgen:{game}", {"num_levels": levels})).vector([list(range(16))])
    rng = np.random.default_rng(0)
    running, returns = np.zeros(16), []
    vector.reset()
    while len(returns) < episodes:
        _, reward, terminated, truncated = vector.step(rng.integers(0, 15, 16).astype(np.int32))
        running += reward
        over = terminated | truncated
        returns += running[over].tolist()
        running[over] = 0
    vector.close()
    return returns


def spread(returns: Sequence[float]) -> str:
    """The mean and its standard error."""
    return f"{np.mean(returns):.2f} ± {np.std(returns) / len(returns) ** 0.5:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="fruitbot")
    parser.add_argument("--levels", type=int, default=10)
    parser.add_argument("--steps", type=int, default=98_304)
    parser.add_argument("--augmentation", default="cutout")
    options = parser.parse_args()
    baseline = random_play(options.game, options.levels)
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        run = evolute.run(
            "ppo",
            env=f"procgen:{options.game}",
            procgen={"num_levels": options.levels},
            ppo={**TINY, **TOLD, "augmentation": options.augmentation, "test_episodes": 16, "greedy": False},
            strategy="random_search",
            population=1,
            interval=options.steps // 4,
            steps=options.steps,
            runs=folder,
            display="none",
        )
        seconds = time.perf_counter() - started
        print(f"{options.game}, {options.levels} levels: random play {spread(baseline)}")
        for number, turn in enumerate(run.best.lineage):
            told = turn.report.metrics
            print(
                f"  turn {number}: train {told['return']:.2f} ({told['episodes']:.0f} episodes), test {told['test_return']:.2f}"
            )
        again = run.best.evaluate(seed=1, episodes=100) or []
        print(f"DrAC ({options.augmentation}) after {options.steps:,} steps: {spread(again)}")
        print(f"{seconds:.0f} s, {time.process_time():.0f} CPU s")


if __name__ == "__main__":
    main()
