"""Steps per second of Sample Factory's APPO in environments that wait (`Waits` in ``actors.py``), learning included.

16 copies, each in a worker of its own that acts as soon as its step is done, and a learner that learns meanwhile
(`async_rl`): the fastest of the set-ups that were tried, by `--workers` and `--splits`. Rollouts of 32 steps, batches of 512,
one epoch, two layers of 64, no recurrence, one thread. What counts are steps that were learnt from, after a warm-up.

The last line on stdout is one JSON object. Requirements: ``sample_factory_waits.txt``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sample_factory.algo.runners.runner import AlgoObserver
from sample_factory.cfg.arguments import parse_full_cfg, parse_sf_args
from sample_factory.envs.env_utils import register_env
from sample_factory.train import make_runner

sys.path.insert(0, str(Path(__file__).parents[1]))
from actors import COPIES, Waits

WARM = 10.0
"""Seconds of training before what is measured."""


class Progress(AlgoObserver):
    """When how many steps had been learnt from; ends the training after the warm-up and so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.seen: list[tuple[float, int]] = []

    def on_training_step(self, runner: Any, training_iteration_since_resume: int) -> None:
        if runner.env_steps:
            self.seen.append((time.perf_counter(), sum(runner.env_steps.values())))
            if self.seen[-1][0] - self.seen[0][0] > WARM + self.seconds:
                runner.cfg.train_for_env_steps = 0  # its own limit of seconds is looked at too seldom

    def rate(self) -> float:
        """Steps per second after the warm-up."""
        (first, before), (last, after) = next(one for one in self.seen if one[0] > self.seen[0][0] + WARM), self.seen[-1]
        return (after - before) / (last - first)


def seeded(case: str, name: str, cfg: Any, place: Any, render_mode: str | None = None) -> Waits:
    """A copy with a seed of its own: Sample Factory leaves seeds to whoever makes the environment."""
    made = Waits(case)
    made.reset(seed=place.env_id if place else 0)
    made.render_mode = render_mode
    return made


def settings(asked: argparse.Namespace, folder: str) -> list[str]:
    return [
        *("--env=waits", "--algo=APPO", "--experiment=waits", f"--train_dir={folder}", "--device=cpu"),
        *("--async_rl=True", "--serial_mode=False", "--batched_sampling=False", "--use_rnn=False", "--save_every_sec=100000"),
        *(f"--num_workers={asked.workers}", f"--num_envs_per_worker={COPIES // asked.workers}"),
        *(f"--worker_num_splits={asked.splits}", "--rollout=32", "--batch_size=512", "--num_batches_per_epoch=1"),
        *("--num_epochs=1", "--encoder_mlp_layers", "64", "64", "--normalize_input=True"),
        "--experiment_summaries_interval=100000",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", default="uneven")
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--splits", type=int, default=1, help="2 is double-buffering")
    asked = parser.parse_args()
    register_env("waits", partial(seeded, asked.case))
    with tempfile.TemporaryDirectory() as folder:
        made, _ = parse_sf_args(settings(asked, folder))
        _, runner = make_runner(parse_full_cfg(made, settings(asked, folder)))
        progress = Progress(asked.seconds)
        runner.register_observer(progress)
        runner.init()
        runner.run()
    print(json.dumps({"peer": "sample-factory", "version": version("sample-factory"), "steps_per_second": progress.rate()}))


if __name__ == "__main__":
    main()
