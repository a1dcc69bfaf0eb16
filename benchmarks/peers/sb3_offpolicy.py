"""How well Stable-Baselines3's SAC or TD3 learns an environment of Gymnasium's within a number of steps, with one seed.

All settings that Evolute's learners have too are the same as their defaults, unless the command says otherwise: twin critics
and an actor of 256x256 with relu, batches of 256, a learning rate of 3e-4, discount 0.99, tau 0.005, a buffer of a million,
1,000 random steps first, one update for each step after them, made every `--unroll` steps. SAC learns its temperature,
towards an entropy of -1 for each dimension of an action; TD3 has noise of 0.1, target noise of 0.2 clipped at 0.5, and a
delay of 2. SB3's own TD3 has 400x300 networks and a rate of 1e-3, and both libraries' own updates are made after every step.

The return is the mean over fresh episodes in an environment of their own, without exploration, with the last policy.

The last line on stdout is one JSON object. Requirements: `sb3_mujoco.txt`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

import gymnasium
import mujoco
import numpy as np
import torch
from stable_baselines3 import SAC, TD3
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.noise import NormalActionNoise

EVALUATION_SEED = 10_000


def make_model(options: argparse.Namespace) -> SAC | TD3:
    env = gymnasium.make(options.env)
    width = int(np.prod(env.action_space.shape))
    shared: dict[str, Any] = {
        "learning_rate": 3e-4,
        "buffer_size": 1_000_000,
        "learning_starts": 1_000,
        "batch_size": options.batch,
        "tau": 0.005,
        "gamma": 0.99,
        "train_freq": options.unroll,
        "gradient_steps": options.unroll,
        "policy_kwargs": {"net_arch": [options.width] * 2, "activation_fn": torch.nn.ReLU},
        "seed": options.seed,
        "device": "cpu",
    }
    if options.algorithm == "SAC":
        return SAC("MlpPolicy", env, ent_coef="auto", target_entropy=-width, **shared)
    noise = NormalActionNoise(np.zeros(width), 0.1 * np.ones(width))
    return TD3("MlpPolicy", env, action_noise=noise, policy_delay=2, target_policy_noise=0.2, target_noise_clip=0.5, **shared)


def train(options: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    model = make_model(options)
    started = time.perf_counter()
    model.learn(options.steps, log_interval=None)
    seconds = time.perf_counter() - started
    env = Monitor(gymnasium.make(options.env))
    env.reset(seed=EVALUATION_SEED + options.seed)
    returns, _ = evaluate_policy(model, env, n_eval_episodes=options.episodes, deterministic=True, return_episode_rewards=True)
    return {"steps": model.num_timesteps, "seconds": round(seconds, 1), "return": round(float(np.mean(returns)), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--algorithm", choices=["SAC", "TD3"], default="SAC")
    parser.add_argument("--steps", type=int, default=200_000)
    parser.add_argument("--unroll", type=int, default=8, help="steps before each round of as many updates")
    parser.add_argument("--width", type=int, default=256, help="units of the two hidden layers of each network")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=20, help="of the evaluation")
    # MuJoCo's own way is a log file in the current directory.
    mujoco.set_mju_user_warning(lambda message: print(message, file=sys.stderr))
    print(json.dumps(train(parser.parse_args())), flush=True)


if __name__ == "__main__":
    main()
