"""Where games connect to: a socket on loopback, the programs that were started to connect to it, and games that wait for play.

A server outlives stages, as games may take long to start. It is used by the loops of several stages, one after another or at a
time.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shlex
import socket
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence

from evolute.games.connection import Connection, LostError, same
from evolute.games.messages import MessageError
from evolute.games.programs import TOKEN, Program

LOOPBACK = "127.0.0.1"
BACKLOG = 128
LOOK = 0.25
"""Seconds between two looks at programs while a game is waited for."""


class GameServer:
    """Takes games in at a port; at port 0, those of programs that it starts, each of which makes `games` connections."""

    def __init__(self, port: int, token: str | None, command: Sequence[str] = (), games: int = 1) -> None:
        self._token, self._command, self._games = token, tuple(command), games
        self._listener = socket.create_server((LOOPBACK, port), backlog=BACKLOG)
        self._listener.setblocking(False)
        self.port = int(self._listener.getsockname()[1])
        self._idle: deque[Connection] = deque()
        self.programs: dict[str, Program] = {}
        self._wanted = self.needed = self.connected = 0
        """How many games are wanted or played, how many it were at most, and how many are connected."""
        self._lock = threading.Lock()
        self._doors: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = weakref.WeakKeyDictionary()
        self.refused: list[str] = []
        """Why clients were turned away."""

    async def take(self) -> Connection:
        """A game that waits for play; starts a program if there are too few."""
        with self._lock:
            self._wanted += 1
            self.needed = max(self.needed, self._wanted)
        try:
            while True:
                connection = self._waiting()
                if connection is not None:
                    return connection
                self._start_missing()
                connection = await self._accept()
                if connection is not None:
                    return connection
        except BaseException:
            with self._lock:
                self._wanted -= 1
            raise

    def give_back(self, connection: Connection) -> None:
        """A game whose episode is over waits for the next."""
        connection.release()
        with self._lock:
            self._wanted -= 1
            self._idle.append(connection)

    def drop(self, connection: Connection, *, failed: bool = False) -> None:
        """A game that is played no more. Its program may connect again; one whose games have all failed is ended."""
        with self._lock:
            self._wanted -= 1
            self._disconnect(connection)
            program = self._program(connection)
            if failed and program is not None:
                self._fail(program, 1)

    def last_words(self, connection: Connection) -> str:
        """What is known of the program behind a connection; it may be about to end."""
        program = self._program(connection)
        return "" if program is None else program.last_words()

    def give_up(self, new: float, again: float) -> str:
        """What is known of the program that is awaited longest; ends it if that is too long.

        One that was started has `new` seconds to connect, one whose connection was closed has `again`.
        """
        with self._lock:
            awaited = [one for one in self.programs.values() if one.connected + one.failed < self._games]
            if not awaited:
                return ""
            program = min(awaited, key=lambda one: one.awaited_since)
            words = program.last_words(patience=0.0)
            if time.monotonic() - program.awaited_since >= (again if program.greeted else new):
                self._fail(program, self._games - program.connected - program.failed)
            return words

    def close(self) -> None:
        """Turn everybody out, and end all programs."""
        self._listener.close()
        for connection in self._idle:
            connection.close()
        for program in self.programs.values():
            program.end()
        self._idle.clear()
        self.programs.clear()

    def _program(self, connection: Connection) -> Program | None:
        return self.programs.get(connection.hello.token) if connection.hello is not None else None

    def _connect(self, connection: Connection) -> None:
        self.connected += 1
        program = self._program(connection)
        if program is not None:
            program.greeted = True
            program.connected += 1
            program.failed = max(0, program.failed - 1)

    def _disconnect(self, connection: Connection) -> None:
        connection.close()
        self.connected -= 1
        program = self._program(connection)
        if program is not None:
            program.connected -= 1
            program.awaited_since = time.monotonic()

    def _fail(self, program: Program, games: int) -> None:
        """Some of a program's games are not counted on any more. With its last one it is ended, and so will be replaced."""
        program.failed += games
        if program.failed >= self._games:
            self.programs.pop(program.token).end()

    def _waiting(self) -> Connection | None:
        with self._lock:
            while self._idle:
                connection = self._idle.popleft()
                if connection.idle:
                    return connection
                self._disconnect(connection)
        return None

    def _start_missing(self) -> None:
        """As many programs as it takes for all who want a game to get one; raises LostError if one ended without a word."""
        if not self._command:
            return
        with self._lock:
            ended = {token: program for token, program in self.programs.items() if program.ended}
            for token, program in ended.items():
                words = program.last_words()
                self.programs.pop(token).end()
                if not program.greeted:
                    raise LostError(f"the game never said hello; {words}")
            while sum(self._games - program.failed for program in self.programs.values()) < self._wanted:
                program = Program(self._command, self.port, self._games)
                self.programs[program.token] = program

    async def _accept(self) -> Connection | None:
        """The next game to come in, if one does before the next look at programs, and knows a token."""
        line = await self._accepted()
        if line is None:
            return None
        connection = Connection(line)
        try:
            await connection.introduce(self._known)
        except (MessageError, LostError) as error:
            self.refused.append(str(error))
            del self.refused[:-100]
            await connection.refuse(str(error))
            return None
        except BaseException:
            connection.close()
            raise
        with self._lock:
            self._connect(connection)
        return connection

    async def _accepted(self) -> socket.socket | None:
        """A new connection. It is accepted after the last await, so that none is lost when somebody stops waiting."""
        loop, knocked = asyncio.get_running_loop(), asyncio.Event()
        async with self._doors.setdefault(loop, asyncio.Lock()):
            loop.add_reader(self._listener, knocked.set)
            try:
                async with asyncio.timeout(LOOK):
                    await knocked.wait()
            except TimeoutError:
                return None
            finally:
                loop.remove_reader(self._listener)
            try:
                return self._listener.accept()[0]
            except BlockingIOError:  # another loop was quicker
                return None

    def _known(self, token: str) -> bool:
        if self._token is not None:
            return same(token, self._token)
        return any(same(token, known) for known in list(self.programs))


_servers: dict[tuple[int, tuple[str, ...], int], GameServer] = {}


def server_at(port: int) -> GameServer:
    """The server at a port, for games that somebody else starts; they show the token of the environment variable."""
    if not 0 < port < 1 << 16:
        raise ValueError(f"connect:{port}: a port is a number from 1 to 65535")
    if (port, (), 1) not in _servers:
        token = os.environ.get(TOKEN)
        if not token:
            raise ValueError(f"connect:{port} lets in games that know a token: set {TOKEN}, for this run and for them")
        try:
            _keep((port, (), 1), GameServer(port, token))
        except OSError as error:
            raise ValueError(f"connect:{port}: cannot listen at {LOOPBACK}:{port}: {error.strerror}") from error
    return _servers[port, (), 1]


def server_of(command: str, games: int) -> GameServer:
    """The server for the games of programs that we start."""
    key = (0, tuple(shlex.split(command)), games)
    if key not in _servers:
        _keep(key, GameServer(0, None, key[1], games))
    return _servers[key]


def _keep(key: tuple[int, tuple[str, ...], int], server: GameServer) -> None:
    """Keep a server until this process ends."""
    if not _servers:
        atexit.register(close_servers)
    _servers[key] = server


def close_servers() -> None:
    """Close all of them, with all games and programs."""
    while _servers:
        with contextlib.suppress(OSError):
            _servers.popitem()[1].close()
