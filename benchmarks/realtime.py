"""How many ticks of a real-time game go without an answer while members train in it?

python benchmarks/realtime.py
python benchmarks/realtime.py --staged --members 1 --games 16

The game is a program of its own, with four players and 60 ticks per second, and does not wait for anybody. A tick is late for
a player whose last question is still open. Members train by PPO at their own pace, on the same cores as the games. With
`--staged` the game is a class with one player and 50 ticks per second, all copies of which run in the loop of the worker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import select
import shlex
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SEATS = [f"player_{number}" for number in range(4)]
TICK, TICKS = 1 / 60, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, default=2)
    parser.add_argument("--games", type=int, default=2, help="games of each member")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--staged", action="store_true", help="games in Python, in the loop of the worker")
    chosen = parser.parse_args()
    import evolute

    command = shlex.join([sys.executable, str(Path(__file__).resolve()), "play"])
    env, players = ("realtime:staged", 1) if chosen.staged else (f"connect:{command}", len(SEATS))
    with tempfile.TemporaryDirectory() as folder:
        run = evolute.run(
            learner="ppo",
            env=env,
            population=chosen.members,
            interval=4096,
            stop={"turns": chosen.turns},
            ppo={"envs": chosen.games * players, "unroll": 64, "lr": "log[1e-4, 1e-3]"},
            evaluation={"members": 0},
            runs=folder,
            display="none",
        )
        for slot in range(chosen.members):
            for turn in run.population[slot].history():
                told = turn.report.metrics
                shown = ", ".join(f"{name} {told[name]:.3f}" for name in ("late", "near", "lag", "idle") if name in told)
                print(f"member {slot}, turn {turn.order.turn}: {shown}; {turn.report.seconds:.1f} s")


def staged() -> Any:
    """The game as a class, for one player."""
    import gymnasium
    import numpy as np

    from evolute.games import Game

    class Light(Game):
        observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
        action_space = gymnasium.spaces.Discrete(3)

        async def play(self, seats: Any, seed: int) -> dict[str, float]:
            rng, seat, where, near, light = random.Random(seed), seats["player"], 0.0, 0, 0.0
            for tick in range(100):
                if tick % 50 == 0:
                    light = rng.uniform(-1, 1)
                seat.ask([where, light])
                await asyncio.sleep(0.02)
                where = min(1.0, max(-1.0, where + 0.05 * (0 if seat.action is None else seat.action - 1)))
                close = abs(where - light) < 0.1
                near += close
                seat.reward(float(close))
            return {"near": near / 100}

    return Light()


def play() -> None:
    """The game: everybody runs after a light on a line, and is paid for being near."""
    host, port = os.environ["EVOLUTE_ADDRESS"].split(":")
    line = socket.create_connection((host, int(port)))
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(**message: object) -> None:
        header = json.dumps(message).encode()
        line.sendall(struct.pack("<II", len(header), 0) + header)

    def receive() -> dict[str, object]:
        head = line.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            raise SystemExit
        return dict(json.loads(line.recv(struct.unpack("<II", head)[0], socket.MSG_WAITALL)))

    box = {"kind": "box", "shape": [2], "low": -1, "high": 1}
    hello = {"version": 1, "token": os.environ["EVOLUTE_TOKEN"], "seats": SEATS}
    send(kind="hello", **hello, observation_space=box, action_space={"kind": "discrete", "n": 3})
    while True:
        message = receive()
        if message["kind"] != "play":
            continue
        rng = random.Random(int(str(message["seed"])))
        where, moves, near, light = [0.0] * 4, [0] * 4, 0, 0.0
        due = time.monotonic()
        for tick in range(TICKS):
            if tick % 60 == 0:
                light = rng.uniform(-1, 1)
            for me, seat in enumerate(SEATS):
                send(kind="ask", seat=seat, obs=[where[me], light])
            due += TICK
            while select.select([line], [], [], max(0.0, due - time.monotonic()))[0]:
                answer = receive()
                if answer["kind"] == "act":
                    moves[SEATS.index(str(answer["seat"]))] = int(str(answer["action"])) - 1
            for me, seat in enumerate(SEATS):
                where[me] = min(1.0, max(-1.0, where[me] + 0.05 * moves[me]))
                close = abs(where[me] - light) < 0.1
                near += close
                send(kind="reward", seat=seat, amounts={"reward": float(close)})
        send(kind="over", results={"near": near / TICKS / len(SEATS)})


if __name__ == "__main__":
    play() if sys.argv[1:] == ["play"] else main()
