"""Moves per second of OpenSpiel's policy gradient agents (A2C) on its Connect Four, one agent for each seat.

OpenSpiel has no PPO for games of two; its agents are trained as in its examples, one game after another in Python. Both agents
learn, so all moves count, which is twice what counts for the others. Networks of 128x128; one thread.

`steps_per_cpu_second` is by processor time. The last line on stdout is one JSON object. Requirements:
``open_spiel_connect_four.txt``.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import time

import torch
from open_spiel.python import rl_environment
from open_spiel.python.pytorch import policy_gradient


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="processor time to measure, at least")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    env = rl_environment.Environment("connect_four")
    size, choices = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
    networks = {"hidden_layers_sizes": (128, 128), "batch_size": 256}
    agents = [policy_gradient.PolicyGradient(seat, size, choices, **networks) for seat in (0, 1)]
    steps, started, cpu = 0, time.perf_counter(), time.process_time()
    while time.process_time() - cpu < asked.seconds:
        now = env.reset()
        while not now.last():
            action = agents[now.observations["current_player"]].step(now).action
            now = env.step([action])
            steps += 1
        for agent in agents:
            agent.step(now)
    elapsed, worked = time.perf_counter() - started, time.process_time() - cpu
    outcome = {"peer": "open_spiel", "open_spiel": importlib.metadata.version("open_spiel")}
    rates = {"steps_per_second": round(steps / elapsed, 1), "steps_per_cpu_second": round(steps / worked, 1)}
    print(json.dumps({**outcome, **rates}))


if __name__ == "__main__":
    main()
