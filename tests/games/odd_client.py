"""Run as a script: a game over a socket that goes wrong in the way its argument says, after one action.

With the name of a file it goes wrong once: where the file is there already, its episodes are whole.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

HELLO = {
    "kind": "hello",
    "version": 1,
    "seats": ["player"],
    "observation_space": {"kind": "box", "shape": [2]},
    "action_space": {"kind": "discrete", "n": 3},
}


def packed(message: dict, body: bytes = b"") -> bytes:
    header = json.dumps(message).encode()
    return struct.pack("<II", len(header), len(body)) + header + body


def received(line: socket.socket) -> dict:
    head = line.recv(8, socket.MSG_WAITALL)
    if len(head) < 8:
        sys.exit(0)
    return json.loads(line.recv(struct.unpack("<II", head)[0], socket.MSG_WAITALL))


def ask(obs=(0, 0), **more) -> bytes:
    return packed({"kind": "ask", "seat": "player", "obs": list(obs), **more})


def opened(token: str | None = None, hello: dict | None = None) -> socket.socket:
    host, port = os.environ["EVOLUTE_ADDRESS"].split(":")
    line = socket.create_connection((host, int(port)))
    line.sendall(packed({**(hello or HELLO), "token": token or os.environ["EVOLUTE_TOKEN"]}))
    assert received(line)["kind"] == "welcome"
    return line


def played(line: socket.socket) -> None:
    """An action of an episode, and its reward."""
    while received(line)["kind"] != "play":
        pass
    line.sendall(ask())
    assert received(line)["kind"] == "act"
    line.sendall(packed({"kind": "reward", "seat": "player", "amounts": {"reward": 1}}))


def main(mode: str, flag: str | None = None) -> None:
    line = opened()
    while flag is not None and Path(flag).exists():
        played(line)
        line.sendall(packed({"kind": "over", "results": {"win": 1}}))
    played(line)
    if flag is not None:
        Path(flag).touch()
    if mode == "dies":
        print("out of ammunition", flush=True)
        os._exit(9)
    elif mode == "closes":
        line.close()
        time.sleep(60)
    elif mode == "stalls":
        print("waiting for the level server", flush=True)
        time.sleep(60)
    elif mode == "leaves":
        while line.recv(1000):
            pass
        print("so be it", flush=True)
        time.sleep(60)
    line.sendall(ODD[mode])
    while flag is None:
        received(line)
    time.sleep(60)


ODD = {
    "bytes": b"\xff" * 100,
    "no json": struct.pack("<II", 3, 0) + b"abc",
    "kind": packed({"kind": "cheat"}),
    "seat": packed({"kind": "ask", "seat": "nobody", "obs": [0, 0]}),
    "obs": ask([1, 2, 3]),
    "body": packed({"kind": "ask", "seat": "player", "obs": [0, 0]}, b"more"),
    "nan": packed({"kind": "reward", "seat": "player", "amounts": {"reward": float("nan")}}),
    "channel": packed({"kind": "reward", "seat": "player", "amounts": {"gold": 1}}),
    "again": packed({**HELLO, "token": "x"}),
    "failed": packed({"kind": "failed", "why": "the level file is missing"}),
    "legal": ask(legal=[True, False, True]),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
