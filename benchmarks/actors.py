"""Environments whose steps take unequal times: steps a second at each pace, beside other libraries' vector environments.

16 copies wait 2 ms in a step. In the case `uneven` one step in ten takes 20 ms, in `slow copies` every step of two copies does,
and in `equal` none. Evolute acts and learns (PPO), and so do Sample Factory (APPO) and RLlib (PPO); the vector environments
only step, with random actions, which flatters them. All contenders are processes of their own that take turns, and what is
shown are medians over the rounds. Sample Factory and RLlib are installed into virtual environments of their own under
benchmarks/.venvs; `--no-peers` leaves them out. EnvPool is not among them: it cannot host an environment written in Python.

    python benchmarks/actors.py                  # all cases
    python benchmarks/actors.py uneven --rounds 3 --no-peers
    python benchmarks/actors.py --broadcast      # how long 1 MB of weights takes to 8 actors (broadcast.py)
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import broadcast
import gymnasium
import numpy as np
from peer import answer, program_of, python_of

COPIES, STEPS = 16, 2048
FAST, SLOW = 0.002, 0.02
CASES = ("uneven", "slow copies", "equal")
RIVALS = ("SB3 SubprocVecEnv", "Gymnasium AsyncVectorEnv")
PEERS = {"Sample Factory, APPO, learning": "sample_factory_waits", "RLlib, PPO, learning": "rllib_waits"}
HERE = Path(__file__).parent
PACES: dict[str, dict[str, Any]] = {
    "Evolute, one by one": {},
    "Evolute, step": {"pace": "step", "actors": COPIES},
    "Evolute, rollout": {"pace": "rollout"},
    "Evolute, rollout, 16 actors": {"pace": "rollout", "actors": COPIES},
    "Evolute, free": {"pace": "free"},
    "Evolute, free, 16 actors": {"pace": "free", "actors": COPIES},
}
RESULTS = HERE / "results" / "actors.json"


class Waits(gymnasium.Env[Any, Any]):
    """Waits in every step. Episodes end after 100 steps."""

    observation_space = gymnasium.spaces.Box(-1, 1, (4,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, case: str = "uneven") -> None:
        self.case, self.slow, self.time = case, False, 0
        self.clock = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self.slow, self.clock = seed % 8 == 0, np.random.default_rng(seed)
        self.time = 0
        return np.zeros(4, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        late = {"uneven": self.clock.random() < 0.1, "slow copies": self.slow, "equal": False}[self.case]
        time.sleep(SLOW if late else FAST)
        self.time += 1
        return self.clock.normal(size=4).astype(np.float32), float(action), self.time >= 100, False, {}


def ours(case: str, *, pace: str = "auto", actors: int = 0) -> Callable[[], int]:
    """A turn of PPO at this pace; two of its copies are slow ones."""
    sys.path.insert(0, str(HERE))
    from evolute.core.order import Order
    from evolute.core.worker import Worker
    from evolute.envs.spec import ActorSpec, EnvSpec
    from evolute.learners.kit.episodes import env_seeds
    from evolute.learners.ppo import ppo
    from evolute.learners.ppo.settings import PPOSettings
    from evolute.testing.memory import MemoryStates

    env = EnvSpec("actors:Waits", {"Waits": {"case": case}}, actors=ActorSpec(actors))
    made = ppo(env=env, settings=PPOSettings(envs=COPIES, unroll=32, devices=2, pace=pace))  # type: ignore[arg-type]
    worker = Worker(made, MemoryStates())
    seeds = [seed for seed in range(1000) if sum(one % 8 == 0 for one in env_seeds([seed], COPIES)[0]) == 2]

    def turn() -> int:
        (report,) = worker.train([Order(0, 0, {}, steps=STEPS, seed=seeds.pop())])
        assert not report.failed, report.error
        return STEPS

    return turn


def theirs(name: str, case: str) -> Callable[[], int]:
    """Steps of another library's vector env, with random actions; it is closed when the process ends."""
    makers = [lambda: Waits(case)] * COPIES
    rng = np.random.default_rng(0)
    if name == "SB3 SubprocVecEnv":
        from stable_baselines3.common.vec_env import SubprocVecEnv

        vector: Any = SubprocVecEnv(makers, start_method="fork")
        vector.seed(0)
    else:
        vector = gymnasium.vector.AsyncVectorEnv(makers)
    vector.reset() if name == "SB3 SubprocVecEnv" else vector.reset(seed=0)

    atexit.register(vector.close)

    def steps() -> int:
        for _ in range(STEPS // COPIES):
            vector.step(rng.integers(0, 2, COPIES))
        return STEPS

    return steps


def serve(name: str, case: str) -> None:
    """Make the steps once to warm up, and then again for every line that comes in; prints steps a second."""
    contender = theirs(name, case) if name in RIVALS else ours(case, **PACES[name])
    contender()
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.perf_counter()
        number = contender()
        print(number / (time.perf_counter() - begun), flush=True)


def started(case: str) -> dict[str, subprocess.Popen[str]]:
    """The contenders that stay, warm and waiting for a line."""
    contenders = {}
    for name in (*RIVALS, *PACES):
        command = [sys.executable, __file__, "--serve", name, case]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if process.stdout is not None and process.stdout.readline().strip() == "ready":
            contenders[name] = process
        else:
            print(f"{name}: not here")
            process.wait()
    return contenders


def answered(process: subprocess.Popen[str]) -> float:
    """Steps a second of a contender that waits."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def trained(peer: str, case: str) -> float:
    """Steps a second of another library that learns; it cannot be told to wait, so it is started anew."""
    return float(answer([python_of(peer), program_of(peer), "--case", case], cwd=HERE)["steps_per_second"])


def compared(case: str, rounds: int, *, peers: bool) -> dict[str, list[float]]:
    """Steps a second of each contender in each round."""
    staying = started(case)
    measures: dict[str, Callable[[], float]] = {name: partial(answered, process) for name, process in staying.items()}
    measures |= {name: partial(trained, peer, case) for name, peer in PEERS.items() if peers}
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(rounds):
        for name, measure in measures.items():
            found[name].append(measure())
            print(f"{case}: {name}: {found[name][-1]:,.0f} steps/s (load {os.getloadavg()[0]:.1f})", flush=True)
    for process in staying.values():
        process.communicate()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=5, help="how many")
    parser.add_argument("--no-peers", action="store_true", help="leave out what has to be installed first")
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--broadcast", action="store_true", help="measure how long weights take to actors, and nothing else")
    asked = parser.parse_args()
    if asked.broadcast:
        broadcast.compared(asked.rounds)
        return
    if asked.serve:
        serve(*asked.serve)
        return
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for case in asked.cases or CASES:
        results[case] = compared(case, asked.rounds, peers=not asked.no_peers)
        RESULTS.write_text(json.dumps(results))
        medians = {name: float(np.median(rates)) for name, rates in results[case].items()}
        base = medians.get(RIVALS[0], next(iter(medians.values())))
        print(f"\n{case}\n\n| | steps/s | by SubprocVecEnv |\n|---|---|---|")
        for name, rate in medians.items():
            print(f"| {name} | {rate:,.0f} | {rate / base:.2f} |")


if __name__ == "__main__":
    main()
