"""Steps per second of RLlib in environments that wait (`Waits` in ``actors.py``), learning included.

16 copies, each in an env runner of its own, which makes its fragment of 32 steps at its own pace; PPO then learns from 512
steps, in one epoch of one minibatch. That is the fastest of the set-ups that were tried on two cores. APPO (`--learner appo`)
samples while it learns, but its learner and its queues take the cores that the runners need; with few runners of several
copies (`--runners 2 --mode async`) all copies of one wait for each other. Two layers of 64, one thread. What counts are steps
that were sampled after a warm-up.

The last line on stdout is one JSON object. Requirements: ``rllib_waits.txt``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import time
from pathlib import Path
from typing import Any

import ray
import torch
from ray.rllib.algorithms.appo import APPOConfig
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.tune.registry import register_env

sys.path.insert(0, str(Path(__file__).parents[1]))
from actors import COPIES, HERE, Waits

WARM = 10.0
"""Seconds of training before what is measured."""
FRAGMENT, BATCH = 32, 512


def configured(asked: argparse.Namespace) -> Any:
    appo = asked.learner == "appo"
    training = {} if appo else {"minibatch_size": BATCH // asked.epochs, "num_epochs": asked.epochs}
    return (
        (APPOConfig() if appo else PPOConfig())
        .environment("waits", env_config={"case": asked.case})
        .env_runners(
            num_env_runners=asked.runners,
            num_envs_per_env_runner=COPIES // asked.runners,
            gym_env_vectorize_mode=asked.mode,
            rollout_fragment_length=FRAGMENT,
            num_cpus_per_env_runner=0.1,
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64]))
        .training(train_batch_size_per_learner=BATCH, **training)
        .learners(num_learners=0)
        .reporting(min_time_s_per_iteration=1)
    )


def sampled(result: dict[str, Any]) -> float:
    """How many steps so far; the first results of APPO do not say."""
    return float(result["env_runners"].get("num_env_steps_sampled_lifetime", 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="uneven")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--learner", choices=["ppo", "appo"], default="ppo")
    parser.add_argument("--epochs", type=int, default=1, help="of PPO, each of as many minibatches")
    parser.add_argument("--runners", type=int, default=16)
    parser.add_argument("--mode", choices=["sync", "async"], default="sync")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - Ray's spelling; its workers would give way to all else that runs
    there = {"env_vars": {"PYTHONPATH": str(HERE), "OMP_NUM_THREADS": "1"}}  # env runners import the environment, too
    options = {"include_dashboard": False, "logging_level": logging.ERROR, "_node_ip_address": "127.0.0.1"}
    ray.init("local", num_cpus=4, runtime_env=there, **options)
    register_env("waits", lambda config: Waits(config["case"]))
    trainer = configured(asked).build_algo()
    begun = time.perf_counter()
    while time.perf_counter() - begun < WARM:
        before = sampled(trainer.train())
    first = time.perf_counter()
    while time.perf_counter() - first < asked.seconds:
        after = sampled(trainer.train())
    rate = (after - before) / (time.perf_counter() - first)
    print(json.dumps({"peer": "rllib", "ray": ray.__version__, "steps_per_second": rate}), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
