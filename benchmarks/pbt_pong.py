"""Does PBT help? PPO on vector Pong with the learning rate drawn from log[1e-5, 1e-1]: PBT against random search.

Both get the same seeds, the same first hyper-parameters and the same number of steps. What is compared is the best member of
each run, chosen by its own last score, in 60 fresh games: the mean fitness, (points made - points lost + 20) / 40.

    python benchmarks/pbt_pong.py            # 5 seeds; about ten minutes on two cores
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import evolute

RESULTS = Path(__file__).parent / "results" / "pbt_pong.json"
STRATEGIES = ("pbt", "random_search")
MEMBERS, GAMES = 8, 60


def trained(strategy: str, seed: int, turns: int, interval: int) -> dict[str, Any]:
    """The best member's fitness in fresh games, and every member's learning rate at the start and at the end."""
    with tempfile.TemporaryDirectory() as folder:
        run = evolute.run(
            "ppo",
            env="pong",
            strategy=strategy,
            population=MEMBERS,
            interval=interval,
            stop={"turns": turns},
            seed=seed,
            folder=Path(folder) / "run",
            display="none",
            ppo={
                "lr": "log[1e-5, 1e-1]",
                "entropy": 0.02,
                "discount": 0.985,
                "gae_lambda": 0.93,
                "envs": 16,
                "minibatches": 8,
            },
        )
        games = run.best.evaluate(seed=seed, episodes=GAMES) or []
        members = [run.member(slot) for slot in range(MEMBERS)]
        drawn = [list(slot.history())[-1].order.hparams["lr"] for slot in run.population.members]
    return {
        "fitness": (float(np.mean(games)) + 20) / 40,
        "first": drawn,
        "last": [agent.hparams["lr"] for agent in members],
        "schedule": [hparams["lr"] for hparams in run.best.schedule],
    }


def spread(rates: list[float]) -> float:
    """How many powers of ten lie between the quartiles."""
    low, high = np.percentile(np.log10(rates), [25, 75])
    return float(high - low)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--interval", type=int, default=51_200, help="environment steps of a member in a turn")
    asked = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {strategy: [] for strategy in STRATEGIES}
    for seed in range(asked.seeds):
        for strategy in STRATEGIES:
            found[strategy].append(trained(strategy, seed, asked.turns, asked.interval))
        pbt, random = (found[strategy][-1] for strategy in STRATEGIES)
        print(
            f"seed {seed}: PBT {pbt['fitness']:.3f}, random search {random['fitness']:.3f}; the quartiles of PBT's learning "
            f"rates were {spread(pbt['first']):.1f} powers of ten apart, and are {spread(pbt['last']):.1f} at the end "
            f"(the winner's last: {pbt['schedule'][-1]:.1e})",
            flush=True,
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found))
    for strategy in STRATEGIES:
        fitness = [one["fitness"] for one in found[strategy]]
        narrowed = [spread(one["last"]) for one in found[strategy]]
        print(f"{strategy:14} median of the best {np.median(fitness):.3f}, median spread at the end {np.median(narrowed):.2f}")


if __name__ == "__main__":
    main()
