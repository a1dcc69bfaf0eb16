"""Own moves per second of RLlib's PPO on OpenSpiel's Connect Four by self-play, after RLlib's own example.

The example is ``rllib/examples/multi_agent/self_play_with_open_spiel.py``: module `main` learns against random play, and later
against copies of itself. Here it plays against another network that does not learn from the beginning, in a changing seat.
Networks, batch, epochs and minibatches are those of Evolute's preset `connect-four`; sampling is in the learning process, with
one thread. As in the example, illegal moves are not masked; they count as moves.

Only moves of `main` count. `steps_per_cpu_second` is by processor time of this process.

The last line on stdout is one JSON object. Requirements: ``rllib_connect_four.txt``.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from typing import Any

import pyspiel
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.open_spiel import OpenSpielEnv
from ray.tune.registry import register_env

BATCH = 2048


def mapped(agent_id: int, episode: Any, **rest: Any) -> str:
    """`main` in one seat, its copy in the other, by the number of the game."""
    return "main" if hash(episode.id_) % 2 == agent_id else "copy"


def moves(result: dict[str, Any]) -> float:
    """How many moves `main` has made so far."""
    return float(result["env_runners"]["num_module_steps_sampled_lifetime"]["main"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time to measure, at least")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    ray.init(num_cpus=1, include_dashboard=False, logging_level=logging.ERROR)
    register_env("connect_four", lambda _: OpenSpielEnv(pyspiel.load_game("connect_four")))
    model = DefaultModelConfig(fcnet_hiddens=[128, 128], fcnet_activation="relu")
    config = (
        PPOConfig()
        .environment("connect_four")
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1)
        .multi_agent(policies={"main", "copy"}, policy_mapping_fn=mapped, policies_to_train=["main"])
        .rl_module(
            model_config=model,
            rl_module_spec=MultiRLModuleSpec(rl_module_specs={"main": RLModuleSpec(), "copy": RLModuleSpec()}),
        )
        .training(train_batch_size_per_learner=2 * BATCH, minibatch_size=BATCH // 8, num_epochs=4, gamma=0.997)
        .learners(num_learners=0)
    )
    trainer = config.build_algo()
    first = moves(trainer.train())
    started, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < asked.seconds:
        result = trainer.train()
    elapsed, worked, steps = time.perf_counter() - started, time.process_time() - cpu, moves(result) - first
    outcome = {"peer": "rllib", "ray": ray.__version__, "steps_per_second": round(steps / elapsed, 1)}
    print(json.dumps({**outcome, "steps_per_cpu_second": round(steps / worked, 1)}), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
