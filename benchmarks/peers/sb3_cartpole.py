"""Env steps per second of Stable-Baselines3's PPO on CartPole-v1, in one or more processes at the same time.

Each process is one training with one thread, as SB3 trains one agent at a time: its stock ``MlpPolicy`` (a policy and a
value network of 64x64 with tanh), Adam and ``DummyVecEnv``, on the CPU. The defaults of the arguments are SB3's own;
``--envs 8 --unroll 128 --epochs 4 --minibatches 4`` are the vectorised settings which the other peers use too.

Imports, construction and the first iteration (rollout and update) are outside the clock. The processes then wait for
each other. Each measures whole iterations, from the start of a rollout to the start of the first one after
``--seconds``, and trains on until the last process has measured, so that none has the machine to itself.

What is fair to SB3: networks of this size gain nothing from a second thread; there is no logger, no evaluation and no
checkpoint; steps alone count, however well they teach. ``--fused-adam`` is the one setting found which makes SB3
notably faster (by about a tenth) without changing its algorithm; it is not what its users get, so it is off unless
asked for.

``cpu_share`` is the least share of a CPU that a process got: well below 1, other work on the machine took the rest and
the figure says nothing. Linux then gives a session of several processes no more than one of a single process, so such a
run would make two SB3 processes look worse than they are.

The last line on stdout is one JSON object. Requirements: ``sb3_cartpole.txt``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import queue
import time
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier, Event

import stable_baselines3
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env

FOREVER = 10**12
START_TIMEOUT_S = 300.0
WARM_UP_ROLLOUTS = 1
Rate = tuple[float, float]


class Window(BaseCallback):
    """Measures whole iterations after the first one, and stops the training when every process has measured."""

    def __init__(self, seconds: float, warm: Barrier, rates: Queue[Rate], finished: Event) -> None:
        super().__init__()
        self.seconds = seconds
        self.warm = warm
        self.rates = rates
        self.finished = finished
        self.rollouts = 0
        self.started = self.started_cpu = 0.0
        self.first_step = 0
        self.measured = False

    def _on_rollout_start(self) -> None:
        if self.rollouts == WARM_UP_ROLLOUTS:
            self.warm.wait(START_TIMEOUT_S)
            self.started, self.started_cpu = time.perf_counter(), time.process_time()
            self.first_step = self.num_timesteps
        self.rollouts += 1
        elapsed = time.perf_counter() - self.started
        if self.rollouts > WARM_UP_ROLLOUTS and elapsed >= self.seconds and not self.measured:
            self.measured = True
            share = (time.process_time() - self.started_cpu) / elapsed
            self.rates.put(((self.num_timesteps - self.first_step) / elapsed, share))

    def _on_step(self) -> bool:
        return not (self.measured and self.finished.is_set())


def train(index: int, options: argparse.Namespace, warm: Barrier, rates: Queue[Rate], finished: Event) -> None:
    """One training, in a process of its own."""
    if options.threads:
        torch.set_num_threads(options.threads)
    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=options.envs, seed=index),
        n_steps=options.unroll,
        n_epochs=options.epochs,
        batch_size=options.envs * options.unroll // options.minibatches,
        policy_kwargs={"optimizer_kwargs": {"fused": options.fused_adam}},
        seed=index,
        device="cpu",
    )
    model.learn(FOREVER, callback=Window(options.seconds, warm, rates, finished), log_interval=None)


def measure(options: argparse.Namespace) -> list[Rate]:
    """Env steps per second and share of a CPU of each process."""
    # Forked children of a process with threads may hang; spawned ones are what a user's own shell would start.
    context = multiprocessing.get_context("spawn")
    warm, finished = context.Barrier(options.processes), context.Event()
    rates: Queue[Rate] = context.Queue()
    arguments = (options, warm, rates, finished)
    processes = [context.Process(target=train, args=(index, *arguments), daemon=True) for index in range(options.processes)]
    for process in processes:
        process.start()
    each: list[Rate] = []
    while len(each) < len(processes):
        try:
            each.append(rates.get(timeout=1.0))
        except queue.Empty:
            if any(process.exitcode for process in processes):
                raise RuntimeError("a training process failed; its traceback is on stderr") from None
    finished.set()
    for process in processes:
        process.join()
    return each


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Throughput of Stable-Baselines3's PPO on CartPole.")
    parser.add_argument("--envs", type=int, default=1)
    parser.add_argument("--unroll", type=int, default=2048, help="steps per env and iteration")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--minibatches", type=int, default=32, help="per epoch")
    parser.add_argument("--seconds", type=float, default=20.0, help="the least time to measure, per process")
    parser.add_argument("--fused-adam", action="store_true", help="torch's fused Adam, which is not SB3's default")
    parser.add_argument("--threads", type=int, default=1, help="of torch in each process; 0: as many as it takes by itself")
    parser.add_argument("--processes", type=int, default=1, help="trainings at the same time")
    options = parser.parse_args()
    if options.envs * options.unroll % options.minibatches:
        parser.error(f"--minibatches {options.minibatches} must divide {options.envs * options.unroll} steps")
    return options


def main() -> None:
    options = parse_arguments()
    each = measure(options)
    outcome = {
        "peer": "stable_baselines3",
        "stable_baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
        "steps_per_second": round(sum(rate for rate, _ in each), 1),
        "each": [round(rate, 1) for rate, _ in each],
        "cpu_share": round(min(share for _, share in each), 3),
    }
    print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
