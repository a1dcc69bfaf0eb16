"""A game's end of a socket, as Evolute sees it: whole messages, from a socket that belongs to no loop."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
from collections.abc import Callable
from typing import Any, NamedTuple

from evolute.games.messages import LENGTHS, Hello, MessageError, Refused, Welcome, decoded, encoded, lengths

PATIENCE = 5.0
"""Seconds that a client has to say hello."""
HELLO_LIMIT = 1 << 14
"""The most bytes that are read from somebody who has not shown the token."""
CHUNK = 1 << 16


class LostError(ConnectionError):
    """The game has closed its connection."""


class Received(NamedTuple):
    """A message, and the raw arrays that came with it."""

    message: Any
    body: bytes


class Connection:
    """Messages to and from one game. Its socket may be used in one loop after another."""

    def __init__(self, line: socket.socket) -> None:
        line.setblocking(False)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.line, self.hello = line, None  # type: socket.socket, Hello | None
        self._read = bytearray()
        self._sending: asyncio.Lock | None = None

    @property
    def idle(self) -> bool:
        """Whether it is open, and nothing has come that nobody asked for."""
        if self._read:
            return False
        try:
            self.line.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    async def receive(self, limit: int | None = None) -> Received:
        """The next message; raises MessageError if it is none, LostError if there will be no more."""
        header, body = lengths(await self._exactly(LENGTHS.size))
        if limit is not None and header + body > limit:
            raise MessageError(f"a first message of {header + body} bytes: at most {limit} are allowed")
        head = await self._exactly(header)
        raw = await self._exactly(body)
        return Received(decoded(head, raw), raw)

    async def send(self, message: Any) -> None:
        """Send a message; several may be sent at a time."""
        loop = asyncio.get_running_loop()
        if self._sending is None:
            self._sending = asyncio.Lock()
        async with self._sending:
            try:
                await loop.sock_sendall(self.line, encoded(message))
            except OSError as error:
                raise LostError("the game has closed its connection") from error

    async def introduce(self, known: Callable[[str], bool]) -> None:
        """Hear the client's hello and welcome it if its token is known; raises MessageError or LostError if it is not."""
        try:
            async with asyncio.timeout(PATIENCE):
                hello = (await self.receive(HELLO_LIMIT)).message
        except TimeoutError as error:
            raise MessageError(f"the game said nothing for {PATIENCE:g} s, and should have said hello") from error
        if not isinstance(hello, Hello):
            raise MessageError(f"the game's first message was {hello.kind}, and should have been hello")
        if not known(hello.token):
            raise MessageError("the game does not know the token")
        self.hello = hello
        await self.send(Welcome())

    async def refuse(self, why: str) -> None:
        """Say what was wrong, and close."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1.0):
                await self.send(Refused(why=why[:1000]))
        self.close()

    def close(self) -> None:
        """Close it, whatever the game is doing."""
        with contextlib.suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)
        self.line.close()

    def release(self) -> None:
        """Make it ready for another loop."""
        self._sending = None

    async def _exactly(self, size: int) -> bytes:
        loop = asyncio.get_running_loop()
        while len(self._read) < size:
            try:
                chunk = await loop.sock_recv(self.line, CHUNK)
            except OSError as error:
                raise LostError(f"the game's connection broke: {error}") from error
            if not chunk:
                raise LostError("the game has closed its connection" + (" in the middle of a message" if self._read else ""))
            self._read += chunk
        taken = bytes(self._read[:size])
        del self._read[:size]
        return taken


def same(token: str, other: str) -> bool:
    """Whether two tokens are equal, in a time that tells nothing."""
    return hmac.compare_digest(token.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))
