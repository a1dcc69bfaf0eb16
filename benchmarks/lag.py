"""Learning from a policy that lags: are advantages to be centred before they are weighted, or after?

A2C with V-trace's weights on CartPole, where every rollout is made by the policy of `--lag` updates before. `centred first` is
what Evolute does: advantages are centred and scaled under the weights of their steps, and then weighted. `weighted first`
multiplies them by the weights, and then centres and scales the products. What is compared is the mean return of each seed's
last 100 episodes.

    python benchmarks/lag.py                      # lag 2, 12 seeds, 131,072 steps each
    python benchmarks/lag.py --lag 8 --seeds 6
"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from evolute.core.order import Order
from evolute.core.protocols import silently
from evolute.envs.spec import EnvSpec
from evolute.learners.a2c import A2CSettings, a2c
from evolute.learners.kit.episodes import env_seeds
from evolute.learners.kit.host_acting import HostPolicy
from evolute.learners.kit.host_rollout import Collector
from evolute.learners.ppo import estimates, update
from evolute.learners.ppo.estimates import Estimates
from evolute.learners.ppo.learner import PPO
from evolute.learners.ppo.paced_runner import Cohort

RESULTS = Path(__file__).parent / "results" / "lag.json"
EPISODES = 100


def weighted_first(*about: Any) -> Estimates:
    """Estimates whose advantages are weighted already, so that what is centred are the products."""
    made = estimates.estimated(*about)
    return made._replace(advantage=made.advantage * made.weight, weight=jnp.ones_like(made.weight))


def returns(*, centred_first: bool, lag: int, seeds: int, steps: int) -> list[float]:
    """The mean return of each seed's last episodes, all seeds in one program."""
    update.estimated = estimates.estimated if centred_first else weighted_first  # type: ignore[attr-defined]
    made = a2c(env=EnvSpec("gym:CartPole-v1"), settings=A2CSettings(correct="vtrace", devices=2))
    assert isinstance(made, PPO)
    orders = [Order(seed, 0, {}, steps=steps, seed=seed + 1) for seed in range(seeds)]
    spec = replace(made._spec(made._full({})), lagged=True)
    assignments = [made._assignment(spec, order, made._full({}), None, lambda player: None) for order in orders]  # type: ignore
    cohort = Cohort(made.runner.programs, spec, made.init(orders), assignments, silently)  # type: ignore[attr-defined]
    policy = HostPolicy(
        cohort.programs,
        spec.policy,
        rows=seeds,
        envs=spec.envs,
        unroll=spec.unroll,
        keys=cohort.keys,
        greedy=False,
        progress=silently,
        lagged=True,
    )
    env = made.runner.env  # type: ignore[attr-defined]
    with contextlib.closing(env.vector(env_seeds([order.seed for order in orders], spec.envs))) as vector:
        collector = Collector(vector, policy, cohort.episodes, spec.unroll)
        past = deque([cohort.players()], maxlen=lag + 1)
        for number in range(cohort.total):
            cohort.update(collector.collect(past[0], number), number)
            past.append(cohort.players())
    return [float(np.mean([one[1] for one in ended[-EPISODES:]])) for ended in cohort.episodes.ended]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lag", type=int, default=2, help="updates between the policy that acts and the one that learns")
    parser.add_argument("--seeds", type=int, default=12, help="how many")
    parser.add_argument("--steps", type=int, default=131_072, help="of each seed")
    asked = parser.parse_args()
    found, means = {}, []
    for name, first in (("centred first", True), ("weighted first", False)):
        begun = time.process_time()
        found[name] = returns(centred_first=first, lag=asked.lag, seeds=asked.seeds, steps=asked.steps)
        means.append(float(np.mean(found[name])))
        error = float(np.std(found[name], ddof=1) / np.sqrt(asked.seeds)) if asked.seeds > 1 else 0.0
        print(f"{name}: {means[-1]:.0f} ± {error:.0f}  ({time.process_time() - begun:.0f} s of CPU)", flush=True)
    print(
        f"{means[0] / means[1]:.2f} times, at lag {asked.lag} with {asked.seeds} seeds of {asked.steps:,} steps (wanted: 1.5)"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"lag": asked.lag, "steps": asked.steps, **found}))


if __name__ == "__main__":
    main()
