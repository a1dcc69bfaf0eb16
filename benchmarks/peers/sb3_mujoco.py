"""How well Stable-Baselines3's PPO learns a MuJoCo env of Gymnasium's within a number of steps, with one seed.

The settings are those which PPO implementations share for continuous control, CleanRL's among them; all are arguments
and the defaults are theirs: observations and rewards normalised and clipped at 10 (``VecNormalize``), 1 env x 2048
steps, 10 epochs of 32 minibatches, a learning rate of 3e-4 annealed linearly to zero, discount 0.99, lambda 0.95, clip
0.2, no entropy bonus, value weight 0.5, gradient norm 0.5, and two 64x64 networks with tanh, initialised orthogonally.
SB3's own defaults are the same but for normalisation and annealing, which it leaves out.

Two figures, both of plain returns, before any normalisation: the mean over the last 100 episodes of training, and the
mean over 20 episodes afterwards in envs of their own, with the most likely action and the normaliser frozen. The
policy is the last one, not the best one met. SB3 trains in whole iterations, so it takes up to one iteration more than
``--steps``, never less.

The last line on stdout is one JSON object. Requirements: ``sb3_mujoco.txt``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from importlib.metadata import version
from typing import Any

import mujoco
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.utils import LinearSchedule
from stable_baselines3.common.vec_env import VecNormalize

EVALUATION_SEED = 10_000


def make_model(options: argparse.Namespace) -> PPO:
    envs = make_vec_env(options.env, n_envs=options.envs, seed=options.seed)
    return PPO(
        "MlpPolicy",
        VecNormalize(envs, gamma=options.gamma),
        learning_rate=LinearSchedule(options.lr, 0.0, 1.0) if options.anneal else options.lr,
        n_steps=options.unroll,
        batch_size=options.envs * options.unroll // options.minibatches,
        n_epochs=options.epochs,
        gamma=options.gamma,
        gae_lambda=options.gae_lambda,
        clip_range=options.clip,
        ent_coef=options.entropy,
        vf_coef=options.value_weight,
        max_grad_norm=options.gradient_norm,
        policy_kwargs={"net_arch": options.widths, "activation_fn": torch.nn.Tanh},
        stats_window_size=options.training_episodes,
        seed=options.seed,
        device="cpu",
    )


def evaluate(model: PPO, options: argparse.Namespace) -> list[float]:
    """Plain returns of fresh episodes, with the observations normalised as at the end of the training."""
    trained = model.get_vec_normalize_env()
    envs = make_vec_env(options.env, n_envs=1, seed=EVALUATION_SEED + options.seed)
    frozen = VecNormalize(envs, training=False, norm_reward=False)
    frozen.obs_rms = trained.obs_rms
    returns, _ = evaluate_policy(
        model, frozen, n_eval_episodes=options.evaluation_episodes, deterministic=True, return_episode_rewards=True
    )
    return returns


def train(options: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)
    model = make_model(options)
    started = time.perf_counter()
    model.learn(options.steps, log_interval=None)
    seconds = time.perf_counter() - started
    training = [episode["r"] for episode in model.ep_info_buffer]
    evaluation = evaluate(model, options)
    return {
        "peer": "stable_baselines3",
        "stable_baselines3": version("stable-baselines3"),
        "gymnasium": version("gymnasium"),
        "mujoco": version("mujoco"),
        "torch": torch.__version__,
        "env": options.env,
        "seed": options.seed,
        "steps": model.num_timesteps,
        "seconds": round(seconds, 1),
        "steps_per_second": round(model.num_timesteps / seconds, 1),
        "training_episodes": len(training),
        "training_return": round(float(np.mean(training)), 2) if training else None,
        "evaluation_episodes": len(evaluation),
        "evaluation_return": round(float(np.mean(evaluation)), 2),
        "evaluation_std": round(float(np.std(evaluation)), 2),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What Stable-Baselines3's PPO learns in a MuJoCo env.")
    parser.add_argument("--env", default="HalfCheetah-v5")
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--envs", type=int, default=1)
    parser.add_argument("--unroll", type=int, default=2048, help="steps per env and iteration")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--minibatches", type=int, default=32, help="per epoch")
    parser.add_argument("--lr", type=float, default=3e-4)
    parser.add_argument("--anneal", action=argparse.BooleanOptionalAction, default=True, help="the learning rate")
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--gae-lambda", type=float, default=0.95)
    parser.add_argument("--clip", type=float, default=0.2)
    parser.add_argument("--entropy", type=float, default=0.0)
    parser.add_argument("--value-weight", type=float, default=0.5)
    parser.add_argument("--gradient-norm", type=float, default=0.5)
    parser.add_argument("--widths", type=int, nargs="+", default=[64, 64])
    parser.add_argument("--training-episodes", type=int, default=100, help="the last ones of training, to average")
    parser.add_argument("--evaluation-episodes", type=int, default=20)
    options = parser.parse_args()
    if options.envs * options.unroll % options.minibatches:
        parser.error(f"--minibatches {options.minibatches} must divide {options.envs * options.unroll} steps")
    return options


def main() -> None:
    # MuJoCo's own way is a log file in the current directory.
    mujoco.set_mju_user_warning(lambda message: print(message, file=sys.stderr))
    print(json.dumps(train(parse_arguments())), flush=True)


if __name__ == "__main__":
    main()
