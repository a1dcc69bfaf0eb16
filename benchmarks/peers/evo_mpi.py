"""PBT as EVO does it: `mpiexec -n 4`, one PPO of Stable-Baselines3 on each rank, the winner's weights to all.

After each generation the ranks gather their scores, the best rank broadcasts its parameters, and the others take them over
with perturbed hyper-parameters. What is fair to the peer: scores come from its training episodes, without an evaluation;
nothing is logged or written; one thread for each rank. The first generation is outside the clock.

Rank 0 prints a line for each generation; its last line is one JSON object. Requirements: ``evo_mpi.txt``.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import torch
from mpi4py import MPI
from stable_baselines3 import PPO


def main() -> None:
    parser = argparse.ArgumentParser(description="PBT over MPI with Stable-Baselines3 on CartPole.")
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--interval", type=int, default=8192, help="steps of each agent in a generation")
    options = parser.parse_args()
    torch.set_num_threads(1)
    ranks = MPI.COMM_WORLD
    rng = np.random.default_rng(ranks.rank)
    rate = 10 ** rng.uniform(-5, -2)
    model = PPO("MlpPolicy", "CartPole-v1", learning_rate=rate, seed=ranks.rank, device="cpu")
    started, before = 0.0, 0
    for generation in range(options.generations):
        if generation == 1:
            ranks.Barrier()
            started, before = time.perf_counter(), model.num_timesteps
        model.learn(options.interval, reset_num_timesteps=False, log_interval=None)
        score = float(np.mean([episode["r"] for episode in model.ep_info_buffer]))
        scores = ranks.allgather(score)
        if ranks.rank == 0:
            print(f"generation {generation}", flush=True)
        winner = int(np.argmax(scores))
        parameters, best = ranks.bcast((model.get_parameters(), rate), root=winner)
        if ranks.rank != winner:
            model.set_parameters(parameters)
            rate = best * rng.choice([0.8, 1.2])
            model.learning_rate = rate
            model._setup_lr_schedule()
    ranks.Barrier()
    seconds = time.perf_counter() - started
    worked = ranks.allreduce(time.process_time())
    if ranks.rank == 0:
        steps = ranks.size * (model.num_timesteps - before)
        print(json.dumps({"peer": "evo", "steps_per_second": steps / seconds, "cpu_seconds": worked, "best": max(scores)}))


if __name__ == "__main__":
    main()
