"""Evolution strategies on CartPole: in how many of 10 seeds a member reaches a mean return of 475, and after how many steps.

python benchmarks/evolution_strategies.py           # some minutes of processor time; fails if fewer than 8 do in 1.2M steps
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

SOLVED = 475.0
BUDGET = 1_200_000
INTERVAL = 60_000


def steps_until_solved(seeds: int, budget: int = BUDGET) -> list[int | None]:
    """The steps of each member until its unperturbed weights reach the mean return; members of one run, all alike."""
    import evolute

    with tempfile.TemporaryDirectory() as folder:
        run = evolute.run(
            "es",
            env="cartpole",
            strategy="random_search",
            population=seeds,
            interval=INTERVAL,
            steps=budget,
            evaluation={"members": 0},
            folder=Path(folder) / "run",
            display="none",
        )
        histories = [list(member.history())[::-1] for member in run.population.members]
    solved = [[turn.steps for turn in history if (turn.score or 0.0) >= SOLVED] for history in histories]
    return [min(found) if found else None for found in solved]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seeds", type=int, default=10)
    found = steps_until_solved(arguments.parse_args().seeds)
    known = [steps for steps in found if steps is not None]
    print(f"solved in {len(known)} of {len(found)}; steps: median {np.median(known):,.0f}, most {max(known):,}")
    if len(known) < 0.8 * len(found):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
