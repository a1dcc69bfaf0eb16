"""How worker processes reach each other: each listens on loopback and answers only those who know the run's token.

Both sides prove that they know it by a keyed hash of the other's challenge, so the token itself never travels.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge

from evolute.core.tree import Tree
from evolute.engines.links.wire import decoded, encoded

LOOPBACK = "127.0.0.1"
PATIENCE = 10.0
"""Seconds that a client may take to prove that it knows the token, or a peer to begin its answer."""
Answer = Callable[[str, Tree], Tree]


def listen(token: bytes, answer: Answer) -> str:
    """Answer other workers from now on; returns the address to reach this one at."""
    server = socket.create_server((LOOPBACK, 0))
    threading.Thread(target=_accept, args=(server, token, answer), daemon=True).start()
    return "{}:{}".format(*server.getsockname())


@dataclass
class Peers:
    """The other workers, as this one reaches them; for use by one thread."""

    token: bytes
    _open: dict[str, Connection] = field(default_factory=dict)

    def ask(self, address: str, method: str, argument: Tree) -> Tree:
        """The answer of the worker at this address; raises ConnectionError if there is none."""
        try:
            pipe = self._reach(address)
            pipe.send_bytes(encoded({"method": method, "argument": argument}).data)
            if not pipe.poll(PATIENCE):
                raise ConnectionError(f"the worker at {address} does not answer")
            answer = decoded(pipe.recv_bytes())
        except (OSError, EOFError, AuthenticationError) as error:
            if address in self._open:
                self._open.pop(address).close()
            raise ConnectionError(f"the worker at {address} cannot be reached: {error!r}") from error
        if "error" in answer:
            raise ConnectionError(f"the worker at {address} answered with an error:\n{answer['error']}")
        return answer["value"]

    def _reach(self, address: str) -> Connection:
        if address not in self._open:
            host, _, port = address.rpartition(":")
            connected = socket.create_connection((host, int(port)), PATIENCE)
            self._open[address] = _proven(connected, self.token, first=False)
        return self._open[address]


def _accept(server: socket.socket, token: bytes, answer: Answer) -> None:
    while True:
        connected, _ = server.accept()
        threading.Thread(target=_serve, args=(connected, token, answer), daemon=True).start()


def _serve(connected: socket.socket, token: bytes, answer: Answer) -> None:
    with contextlib.suppress(OSError, EOFError, AuthenticationError), _proven(connected, token, first=True) as pipe:
        while True:
            message = decoded(pipe.recv_bytes())
            pipe.send_bytes(encoded(answer(message["method"], message["argument"])).data)


def _proven(connected: socket.socket, token: bytes, *, first: bool) -> Connection:
    """The connection, after each side has challenged the other; silence is a timeout."""
    with connected:
        connected.setblocking(True)
        _patience(connected, PATIENCE)
        pipe = Connection(os.dup(connected.fileno()))
        try:
            for challenges in (first, not first):
                (deliver_challenge if challenges else answer_challenge)(pipe, token)
        except BaseException:
            pipe.close()
            raise
        _patience(connected, 0.0)
    return pipe


def _patience(connected: socket.socket, seconds: float) -> None:
    """How long a read may take; 0 is for ever."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), 0))
