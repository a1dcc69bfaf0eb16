"""Overhead of Ray Tune's population-based training with a no-op trainable.

The member does no work, so the time between two results is what Ray Tune itself
costs: dispatching a step to an actor, collecting the result, the default loggers,
and exploit/explore after every iteration (25 % quantile, one log-uniform ``lr``).

The clock runs from the first result to the last. The actors which run at the same
time wait for each other before their first step, so neither ``ray.init`` nor their
initial start is inside it. Actors which Ray Tune requests later, when it resumes a
paused member, are: that is a cost of its turns.

A turn is one result. There are more of them than members times turns, as a member
takes over the iteration count of the one it clones and repeats iterations.

The last line on stdout is one JSON object. Requirements: ``ray_tune_noop.txt``.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
START_DIR_VARIABLE = "PEER_BENCHMARK_START_DIR"
START_COUNT_VARIABLE = "PEER_BENCHMARK_START_COUNT"
START_TIMEOUT_S = 300.0


def configure_environment() -> None:
    """Set what Ray reads on import or hands on to the processes it starts."""
    # The only switch which makes Ray bind to loopback: it replaces a loopback
    # ``_node_ip_address`` by the address of the first external interface otherwise.
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Ray's default is token authentication, with the token in the user's home
    # directory. A token for this run alone keeps the default and leaves no file.
    os.environ["RAY_AUTH_MODE"] = "token"
    os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


configure_environment()

import ray  # noqa: E402  (must see the environment above)
from ray import tune  # noqa: E402
from ray.tune.schedulers import PopulationBasedTraining  # noqa: E402


def wait_for_all_members(member: str) -> None:
    """Block until as many members as may run at the same time have an actor.

    Actors start one after another, and a no-op member could finish before the last
    one is up; the measurement would then be one of starting processes.
    """
    directory = Path(os.environ[START_DIR_VARIABLE])
    expected = int(os.environ[START_COUNT_VARIABLE])
    (directory / member).touch()
    deadline = time.monotonic() + START_TIMEOUT_S
    while len(os.listdir(directory)) < expected:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{expected} members did not start at the same time")
        time.sleep(0.05)


class NoOp(tune.Trainable):
    """A member whose state is one float and whose score follows from ``lr``."""

    def setup(self, config: dict[str, Any]) -> None:
        self.value = 0.0
        self.lr = float(config["lr"])
        self.waited = False

    def step(self) -> dict[str, float]:
        if not self.waited:
            wait_for_all_members(self.trial_id)
            self.waited = True
        self.value += 1.0
        # Not constant across the members, so that the quantiles are real ones.
        return {"score": -abs(math.log10(self.lr) + 3.0)}

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        # Without this, reuse_actors has no effect.
        self.lr = float(new_config["lr"])
        return True

    def save_checkpoint(self, checkpoint_dir: str) -> dict[str, float]:
        return {"value": self.value}

    def load_checkpoint(self, checkpoint: dict[str, float] | None) -> None:
        self.value = checkpoint["value"] if checkpoint else 0.0


class ResultClock(tune.Callback):
    """Counts the results and remembers when the first and the last one came."""

    def __init__(self) -> None:
        self.results = 0
        self.first = 0.0
        self.last = 0.0

    def on_trial_result(self, iteration: int, trials: list[Any], trial: Any, result: dict[str, Any], **info: Any) -> None:
        self.last = time.perf_counter()
        if self.results == 0:
            self.first = self.last
        self.results += 1

    @property
    def seconds(self) -> float:
        return self.last - self.first


def cpu_count() -> int:
    return os.cpu_count() or 1


def cpu_share(cpus: int, concurrent: int) -> float:
    """CPUs reserved per member, such that ``concurrent`` members fit."""
    # One CPU is Ray Tune's own default and, in our runs, the fastest setting; so it is
    # what ``--concurrent`` defaults to. Smaller shares, for all members at once, are
    # slower and not more concurrent: an exploit pauses a member, and asynchronous PBT
    # then pauses each member which reports while another one is paused or pending.
    # Nearly every turn is a pause and a resume either way, but with smaller shares
    # more processes are started meanwhile.
    # Ray counts resources in units of 1e-4; rounding up would leave one member out.
    return min(1.0, math.floor(cpus / concurrent * 10_000) / 10_000)


def make_tuner(members: int, turns: int, cpu: float, storage: Path, clock: ResultClock) -> tune.Tuner:
    space = tune.loguniform(1e-5, 1e-1)
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        metric="score",
        mode="max",
        perturbation_interval=1,
        quantile_fraction=0.25,
        hyperparam_mutations={"lr": space},
    )
    return tune.Tuner(
        tune.with_resources(NoOp, {"cpu": cpu}),
        param_space={"lr": space},
        tune_config=tune.TuneConfig(scheduler=scheduler, num_samples=members, reuse_actors=True),
        # The clock is added to Ray Tune's default callbacks, it replaces none.
        run_config=tune.RunConfig(
            name="noop",
            storage_path=str(storage),
            stop={"training_iteration": turns},
            callbacks=[clock],
            verbose=0,
        ),
    )


def start_ray(cpus: int, directory: Path) -> None:
    ray.init(
        address="local",  # never an existing cluster
        num_cpus=cpus,
        include_dashboard=False,
        log_to_driver=False,
        # Every exploit is logged at INFO otherwise, with Ray Tune's verbosity 0 too.
        logging_level=logging.ERROR,
        _node_ip_address=LOOPBACK,
        _temp_dir=str(directory),
    )
    address = ray.util.get_node_ip_address()
    if address != LOOPBACK:
        raise RuntimeError(f"Ray listens on {address} instead of {LOOPBACK}")


def measure(members: int, turns: int, concurrent: int) -> dict[str, Any]:
    cpus = cpu_count()
    clock = ResultClock()
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        root = Path(name)
        started = root / "started"
        started.mkdir()
        os.environ[START_DIR_VARIABLE] = str(started)
        os.environ[START_COUNT_VARIABLE] = str(concurrent)
        try:
            start_ray(cpus, root / "session")
            tuner = make_tuner(members, turns, cpu_share(cpus, concurrent), root / "results", clock)
            grid = tuner.fit()
        finally:
            ray.shutdown()
    if grid.num_errors:
        raise RuntimeError(f"{grid.num_errors} members failed")
    return {
        "peer": "ray_tune_pbt",
        "ray": ray.__version__,
        "members": members,
        "turns": turns,
        "results": clock.results,
        "seconds": round(clock.seconds, 4),
        # The first result starts the clock, so one result less is inside it.
        "ms_per_member_turn": round(1000.0 * clock.seconds / (clock.results - 1), 4),
    }


def parse_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Overhead of Ray Tune's PBT.")
    parser.add_argument("--members", type=int, default=8)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--concurrent", type=int, help="members running at once (default: one per CPU)")
    options = parser.parse_args(arguments)
    if options.members < 2 or options.turns < 2:
        parser.error("at least two members and two turns are needed")
    fewest = min(options.members, cpu_count())
    if options.concurrent is None:
        options.concurrent = fewest
    if not fewest <= options.concurrent <= options.members:
        parser.error(f"--concurrent must be between {fewest} and {options.members}")
    return options


def main() -> int:
    options = parse_arguments()
    outcome = measure(options.members, options.turns, options.concurrent)
    print(json.dumps(outcome), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
