"""Env steps per second of a population under Ray Tune's population-based training around Stable-Baselines3's PPO.

A member is SB3's stock PPO on CartPole-v1 (``MlpPolicy``: two 64x64 networks) on the CPU, with the vectorised settings
which the other peers use too: 8 envs x 128 steps, 4 epochs, 4 minibatches. A turn is 8,192 steps; after each, Ray
Tune's PBT exploits and explores (25 % quantile; learning rate, entropy and clip range).

The clock runs in the driver, from one result to the last one within ``--seconds``, and the turns of the results after
the first of these are counted. It starts only when each actor that runs at the same time has reported a turn, so
neither ``ray.init``, nor the imports of the actors, nor the first iterations of SB3 are inside it. The run then stops
as a whole, so there is no tail in which some actors have nothing left to do. What Ray Tune does between two turns
(pausing a member, handing its actor to another one, checkpoints, results, loggers) is inside: that is its price.

What is fair to Ray Tune:
- Members run one per CPU, which is Ray Tune's default, with one thread each. ``--concurrent`` changes that.
- The trainable is a class which can be reset, and ``reuse_actors`` is on. A function trainable, or one without
  ``reset_config``, gets a new process, and imports torch anew, whenever a member is resumed.
- A checkpoint is the policy with its optimiser, not SB3's larger file of the whole algorithm, and lies in a temporary
  directory. Envs start anew in each turn rather than being checkpointed.

``cpu_share`` is the share of a CPU that members got while they trained: well below 1, other work on the machine took
the rest and the figure says nothing. (Ray's own processes take a little of it on an idle machine too.)

The last line on stdout is one JSON object. Requirements: ``ray_tune_sb3.txt``.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
STATE = "state.pt"


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
import stable_baselines3  # noqa: E402
import torch  # noqa: E402
from ray import tune  # noqa: E402
from ray.tune.schedulers import PopulationBasedTraining  # noqa: E402
from stable_baselines3 import PPO  # noqa: E402
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.utils import safe_mean  # noqa: E402

SPACE = {
    "lr": tune.loguniform(1e-5, 1e-2),
    "entropy": tune.uniform(0.0, 0.02),
    "clip": tune.uniform(0.05, 0.4),
}


class Member(tune.Trainable):
    """SB3's PPO, one turn per step."""

    def setup(self, config: dict[str, Any]) -> None:
        torch.set_num_threads(1)
        self.turn = int(config["turn"])
        envs, unroll = int(config["envs"]), int(config["unroll"])
        self.model = PPO(
            "MlpPolicy",
            make_vec_env("CartPole-v1", n_envs=envs),
            n_steps=unroll,
            n_epochs=int(config["epochs"]),
            batch_size=envs * unroll // int(config["minibatches"]),
            device="cpu",
        )
        self.reset_config(config)

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        # Without this, reuse_actors has no effect. SB3 reads all three at each update.
        lr, clip = float(new_config["lr"]), float(new_config["clip"])
        self.model.lr_schedule = lambda _: lr
        self.model.clip_range = lambda _: clip
        self.model.ent_coef = float(new_config["entropy"])
        return True

    def step(self) -> dict[str, Any]:
        # A new call of learn starts the envs and the list of finished episodes anew.
        started, started_cpu = time.perf_counter(), time.process_time()
        self.model.learn(self.turn, log_interval=None)
        return {
            "score": safe_mean([episode["r"] for episode in self.model.ep_info_buffer]),
            "trained": self.model.num_timesteps,
            "seconds": time.perf_counter() - started,
            "cpu_seconds": time.process_time() - started_cpu,
            "process": os.getpid(),
        }

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        policy = self.model.policy
        state = {"policy": policy.state_dict(), "optimizer": policy.optimizer.state_dict()}
        torch.save(state, Path(checkpoint_dir) / STATE)

    def load_checkpoint(self, checkpoint_dir: str) -> None:
        state = torch.load(Path(checkpoint_dir) / STATE, weights_only=True)
        self.model.policy.load_state_dict(state["policy"])
        self.model.policy.optimizer.load_state_dict(state["optimizer"])


class Window(tune.Stopper):
    """Counts the steps between the result that starts the clock and the last one, and stops the run after a time."""

    def __init__(self, seconds: float, actors: int) -> None:
        self.length = seconds
        self.actors = actors
        self.warm: set[int] = set()
        self.processes: set[int] = set()
        self.started = self.last = 0.0
        self.steps = self.turns = 0
        self.training = self.training_cpu = 0.0

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        now = time.perf_counter()
        if len(self.warm) < self.actors:
            self.warm.add(result["process"])
            self.started = self.last = now
        elif not self.stop_all():
            self.last = now
            self.steps += result["trained"]
            self.turns += 1
            self.training += result["seconds"]
            self.training_cpu += result["cpu_seconds"]
            self.processes.add(result["process"])
        return False

    def stop_all(self) -> bool:
        return len(self.warm) == self.actors and time.perf_counter() - self.started >= self.length

    @property
    def seconds(self) -> float:
        return self.last - self.started


def make_tuner(options: argparse.Namespace, storage: Path, window: Window) -> tune.Tuner:
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        metric="score",
        mode="max",
        perturbation_interval=1,
        quantile_fraction=0.25,
        hyperparam_mutations=dict(SPACE),
    )
    fixed = {name: getattr(options, name) for name in ("envs", "unroll", "epochs", "minibatches", "turn")}
    return tune.Tuner(
        tune.with_resources(Member, {"cpu": 1}),
        param_space={**SPACE, **fixed},
        tune_config=tune.TuneConfig(scheduler=scheduler, num_samples=options.members, reuse_actors=True),
        run_config=tune.RunConfig(name="sb3", storage_path=str(storage), stop=window, verbose=0),
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


def measure(options: argparse.Namespace) -> dict[str, Any]:
    window = Window(options.seconds, options.concurrent)
    with tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True) as name:
        root = Path(name)
        try:
            start_ray(options.concurrent, root / "session")
            grid = make_tuner(options, root / "results", window).fit()
        finally:
            ray.shutdown()
    if grid.num_errors or not window.turns:
        raise RuntimeError(f"{grid.num_errors} members failed and {window.turns} turns were measured")
    return {
        "peer": "ray_tune_pbt_sb3",
        "ray": ray.__version__,
        "stable_baselines3": stable_baselines3.__version__,
        "torch": torch.__version__,
        "members": options.members,
        "turns": window.turns,
        "processes": len(window.processes),
        "seconds": round(window.seconds, 3),
        "steps_per_second": round(window.steps / window.seconds, 1),
        "cpu_share": round(window.training_cpu / window.training, 3),
    }


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Throughput of Ray Tune's PBT around Stable-Baselines3's PPO.")
    parser.add_argument("--members", type=int, default=16)
    parser.add_argument("--concurrent", type=int, default=os.cpu_count() or 1, help="members running at once")
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--unroll", type=int, default=128, help="steps per env and iteration")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4, help="per epoch")
    parser.add_argument("--turn", type=int, default=8192, help="steps of a member between two perturbations")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to measure")
    options = parser.parse_args()
    if not 1 <= options.concurrent <= options.members:
        parser.error(f"--concurrent must be between 1 and the {options.members} members")
    iteration = options.envs * options.unroll
    if iteration % options.minibatches or options.turn % iteration:
        parser.error(f"--minibatches must divide {iteration}, the steps of an iteration, which must divide --turn")
    return options


def main() -> int:
    print(json.dumps(measure(parse_arguments())), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
