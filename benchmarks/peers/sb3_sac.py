"""SAC of Stable-Baselines3 in some processes at once: updates, and environment steps, per second of all."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time


def train(env: str, width: int, batch: int, seconds: float, seed: int) -> float:
    """Updates per second after the first ones, which compile or fill the buffer."""
    import gymnasium
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)

    model = SAC(
        "MlpPolicy",
        gymnasium.make(env),
        batch_size=batch,
        learning_starts=100,
        policy_kwargs={"net_arch": [width, width]},
        seed=seed,
        device="cpu",
    )
    model.learn(400)
    steps, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        model.learn(500, reset_num_timesteps=False)
        steps += 500
    return steps / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--env", default="Pendulum-v1")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=30)
    asked = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with context.Pool(asked.processes) as pool:
        arguments = [(asked.env, asked.width, asked.batch, asked.seconds, seed) for seed in range(asked.processes)]
        found = pool.starmap(train, arguments)
    print(json.dumps({"steps_per_second": sum(found)}))


if __name__ == "__main__":
    main()
