"""A training program as Evolute's `script` learner starts it: `python train.py ORDER.json`. It needs nothing of Evolute."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path

LEVERS = [0.1 * number for number in range(10)]
"""What each lever gives on average; the last one gives most."""


def main() -> None:
    order = json.loads(Path(sys.argv[1]).read_text())
    chance = random.Random(order["seed"])
    values = [0.0] * 10
    if order["start"] is not None:
        values = json.loads(Path(order["start"], "values.json").read_text())
    rewards = []
    for _ in range(order["steps"]):
        weights = [math.exp(value / order["hparams"]["temperature"]) for value in values]
        lever = chance.choices(range(10), weights)[0]
        reward = LEVERS[lever] + chance.gauss(0, 0.3)
        values[lever] += order["hparams"]["step_size"] * (reward - values[lever])
        rewards.append(reward)
    Path(order["save"], "values.json").write_text(json.dumps([round(value, 3) for value in values]))
    Path(order["metrics"]).write_text(json.dumps({"score": sum(rewards[-100:]) / len(rewards[-100:])}))
    print(f"trained for {order['steps']} steps")


if __name__ == "__main__":
    main()
