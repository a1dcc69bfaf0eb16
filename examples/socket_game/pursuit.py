"""A game that connects to Evolute over a local socket, in Python, with the standard library alone.

    evolute check-game 'python examples/socket_game/pursuit.py'

The messages are in docs/how-to/connect.md.
A chase on a line that ticks at its own pace: players who have not answered keep their last move.
"""

from __future__ import annotations

import json
import os
import random
import select
import socket
import struct
import threading
import time
from typing import Any

SEATS, CHANNELS = ["hunter", "prey"], ["score", "effort"]
HELLO = {
    "kind": "hello",
    "version": 1,
    "seats": SEATS,
    "channels": CHANNELS,
    "observation_space": {"kind": "box", "shape": [2], "low": -3, "high": 3},
    "action_space": {"kind": "discrete", "n": 3},
}
TICK = 0.01


class Line:
    """Messages over a socket: two lengths, a header of JSON, and a body, which is not used here."""

    def __init__(self, address: str, token: str) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.send({**HELLO, "token": token})

    def send(self, message: dict[str, Any]) -> None:
        header = json.dumps(message).encode()
        self.socket.sendall(struct.pack("<II", len(header), 0) + header)

    def receive(self) -> dict[str, Any] | None:
        """The next message; None when Evolute has closed the connection."""
        head = self.exactly(8)
        if head is None:
            return None
        header, body = struct.unpack("<II", head)
        message, rest = self.exactly(header), self.exactly(body)
        return None if message is None or rest is None else dict(json.loads(message))

    def exactly(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                return None
            data += chunk
        return data

    def waiting(self, seconds: float) -> bool:
        """Whether a message comes within so many seconds."""
        return bool(select.select([self.socket], [], [], max(0.0, seconds))[0])


def play(line: Line, seed: int) -> bool:
    """One episode; False if the connection was closed."""
    rng = random.Random(seed)
    where, moves = [rng.uniform(-1, 1), rng.uniform(-1, 1)], [0, 0]
    caught, thinking = 0.0, [False, False]
    for _ in range(100):
        for me in (0, 1):
            if not thinking[me]:
                line.send({"kind": "ask", "seat": SEATS[me], "obs": [where[me], where[1 - me]]})
                thinking[me] = True
        tick = time.monotonic() + TICK
        while line.waiting(tick - time.monotonic()):
            message = line.receive()
            if message is None:
                return False
            if message["kind"] == "act":
                me = SEATS.index(message["seat"])
                moves[me], thinking[me] = message["action"] - 1, False
        for me, speed in ((0, 0.06), (1, 0.05)):
            where[me] = min(3, max(-3, where[me] + speed * moves[me]))
            line.send({"kind": "reward", "seat": SEATS[me], "amounts": {"effort": -abs(moves[me])}})
        if abs(where[0] - where[1]) < 0.05:
            caught = 1.0
            break
    line.send({"kind": "reward", "seat": "hunter", "amounts": {"score": caught}})
    line.send({"kind": "reward", "seat": "prey", "amounts": {"score": -caught}})
    line.send({"kind": "over", "results": {"hunter": {"win": caught}, "prey": {"win": 1 - caught}}})
    return True


def connect() -> None:
    """Play whatever is asked for; connect again when the connection was closed, until nobody listens any more."""
    while True:
        try:
            line = Line(os.environ["EVOLUTE_ADDRESS"], os.environ["EVOLUTE_TOKEN"])
            while (message := line.receive()) is not None:
                if message["kind"] == "refused":
                    raise SystemExit(message["why"])
                if message["kind"] == "play" and not play(line, message["seed"]):
                    break
        except (ConnectionError, BrokenPipeError):
            return


if __name__ == "__main__":
    games = [threading.Thread(target=connect) for _ in range(int(os.environ.get("EVOLUTE_GAMES", "1")))]
    for game in games:
        game.start()
    for game in games:
        game.join()
