"""Several objectives at once, on the problem `tradeoff`: how much the population dominates at the end (hypervolume above 0, 0).

Members are compared by Pareto fronts, or by the sum of both objectives, on the same seeds and with the same budget; what counts
are the noise-free skills. PBT with objectives must be above PBT on the sum for every seed.

    python benchmarks/objectives.py                          # 30 seeds of the quick ones, a minute
    python benchmarks/objectives.py pbt pb2 bg_pbt --seeds 5
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

OBJECTIVES = ("a", "b")
ARMS = {
    "pbt": OBJECTIVES,
    "pbt on the sum": (),
    "random_search": (),
    "nsga2": OBJECTIVES,
    "mf_pbt": OBJECTIVES,
    "winner_takes_all": OBJECTIVES,
    "pb2": OBJECTIVES,
    "bg_pbt": OBJECTIVES,
}
"""What is compared: a strategy, and the objectives it is given."""
SLOW = ("pb2", "bg_pbt")
"""Their models take ten seconds of processor time for a run; they are measured when they are named."""


def dominated(arm: str, seed: int) -> float:
    """The hypervolume of a run's last population."""
    from evolute.config.layers import preset, python, stack
    from evolute.config.resolve import resolved
    from evolute.core.pareto import hypervolume
    from evolute.core.protocols import Plan
    from evolute.core.solo import adapt
    from evolute.engines.inline import inline
    from evolute.testing.memory import rehearse

    config = resolved(stack([preset("tradeoff"), python({"strategy": arm.partition(" ")[0]})]))
    turns = config.stop.turns or 1
    plan = Plan(config.space, config.settings.population, config.settings.interval, turns, objectives=ARMS[arm])
    made = config.strategy.maker(plan, **config.strategy.settings)
    learner: Any = adapt(config.learner.maker)
    done = rehearse(learner, made, plan, lambda worker: inline(worker, None), turns=turns, seed=seed)
    skills = [[turn.report.metrics["true_a"], turn.report.metrics["true_b"]] for turn in done.population.candidates]
    return hypervolume(np.array(skills, dtype=np.float64), (0.0, 0.0))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("arms", nargs="*", choices=[*ARMS, []], default=[])
    arguments.add_argument("--seeds", type=int, default=30)
    asked = arguments.parse_args()
    seeds = range(asked.seeds)
    arms = asked.arms or [arm for arm in ARMS if arm not in SLOW]
    found = {arm: np.array([dominated(arm, seed) for seed in seeds]) for arm in arms}
    print(f"| strategy | hypervolume, {len(seeds)} seeds | least |\n|---|---|---|")
    for arm, values in found.items():
        print(f"| {arm} | {values.mean():.3f} ± {values.std(ddof=1) / len(values) ** 0.5:.3f} | {values.min():.3f} |")
    if not {"pbt", "pbt on the sum"} <= found.keys():
        return
    gains = found["pbt"] - found["pbt on the sum"]
    print(
        f"\npbt by objectives against pbt on their sum: better in {(gains > 0).sum()} of {len(gains)}, least {gains.min():+.3f}"
    )
    if (gains <= 0).any():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
