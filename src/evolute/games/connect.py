"""Games that are programs of their own, in any language: `connect:9000`, or `connect:COMMAND` for programs that we start.

They speak the messages of `messages.py` over a socket on loopback. For a stage such a game is a Game like any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import shlex
import shutil
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from evolute.core.names import closest
from evolute.envs.adapter import Adapter, Library
from evolute.envs.interface import HostEnv
from evolute.games import messages
from evolute.games.connection import PATIENCE, Connection, LostError
from evolute.games.game import Game, Seat
from evolute.games.messages import Act, Ask, End, Failed, Hello, MessageError, Over, Play, Reward
from evolute.games.played_game import GameError, NoGameError
from evolute.games.server import GameServer, server_at, server_of

LIBRARY = Library((), None, "connect:9000", "games that are programs of their own, in any language")
SINGLE = "reward"
"""The name of the reward in a game without channels."""


class ConnectedGame(Game):
    """A game that connects to us: at the port `where`, or a program that the command `where` starts.

    Each such program makes `games` connections. The first game has `wait` seconds to say hello.
    """

    def __init__(
        self, where: str, *, plays: str | Sequence[str] | None = None, games: int = 1, wait: float = 60.0, stall: float = 60.0
    ) -> None:
        super().__init__(plays=plays)
        self._where, self._games, self.stall = where, _positive("games", games, int), float(_positive("stall", stall))
        self._wait = float(_positive("wait", wait))
        self._connection: Connection | None = None
        self._has_stalled = False
        self._hello = _in_thread(self._met)
        self.seats, self.channels, self.repeatable = self._hello.seats, self._hello.channels, self._hello.repeatable
        self.legal, self.clock = self._hello.legal, self._hello.clock
        self.observation_space = _space(self._hello.observation_space)
        self.action_space = _space(self._hello.action_space)

    async def play(self, seats: Mapping[str, Seat], seed: int) -> Any:
        server = self._server()
        self._connection, self._has_stalled = None, False
        try:
            connection = self._connection = await server.take()
        except LostError as error:
            raise GameError(str(error)) from error
        results, failed = None, True
        try:
            results = await self._episode(connection, seats, seed)
        except asyncio.CancelledError:
            failed = self._has_stalled  # else nobody wants to play any more, and the game is not to blame
            raise
        except (MessageError, LostError) as error:
            known = await asyncio.to_thread(server.last_words, connection)
            words = f"{error}; {known}" if known else str(error)
            await connection.refuse(words)
            raise GameError(words) from error
        finally:
            if results is None:
                server.drop(connection, failed=failed)
            else:
                server.give_back(connection)
        return results

    def advice(self, games: int) -> Sequence[str]:
        if not self._where.isdecimal():
            return ()
        needed = "1 game is" if games == 1 else f"{games} games are"
        return (f"connect:{self._where}: {needed} needed for each member that trains; start them",)

    async def stalled(self) -> str:
        server = self._server()
        if self._connection is not None:
            known = await asyncio.to_thread(server.last_words, self._connection)
            self._has_stalled = True
            return known or "it is still connected"
        if self._where.isdecimal():
            connected, needed = server.connected, server.needed
            raise NoGameError(
                f"connect:{self._where}: {connected} game{' is' if connected == 1 else 's are'} connected and {needed} "
                f"{'is' if needed == 1 else 'are'} needed (members x envs / seats); start more"
            )
        known = server.give_up(new=max(self._wait, self.stall), again=self.stall)
        return f"no game has connected; {known}" if known else "no game has connected"

    async def _episode(self, connection: Connection, seats: Mapping[str, Seat], seed: int) -> Any:
        assert connection.hello is not None
        if _kind(connection.hello) != _kind(self._hello):
            raise MessageError("the game says that it has other seats, channels or spaces than the first one that said hello")
        await connection.send(Play(seed=seed, seats=[name for name in self.seats if self.plays is None or name in self.plays]))
        async with _Answers(connection) as answers:
            while True:
                message, body = await connection.receive()
                if isinstance(message, Over):
                    return message.results
                if isinstance(message, Failed):
                    raise GameError(f"the game says: {message.why}")
                if isinstance(message, Hello):
                    raise MessageError("the game said hello again")
                if message.seat not in seats:
                    raise MessageError(f"there is no seat {message.seat!r}")
                self._take(answers, seats[message.seat], message, body)

    def _take(self, answers: _Answers, seat: Seat, message: Ask | Reward | End, body: bytes) -> None:
        try:
            match message:
                case Ask():
                    answers.ask(seat, messages.observation(message.obs, body), message.legal, message.at)
                case Reward() if self.channels:
                    seat.reward(**message.amounts)
                case Reward():
                    if list(message.amounts) != [SINGLE]:
                        raise MessageError(f"rewards {', '.join(message.amounts)}: without channels there is one, {SINGLE!r}")
                    seat.reward(message.amounts[SINGLE])
                case End():
                    obs = None if message.obs is None else messages.observation(message.obs, body)
                    seat.end(obs, truncated=message.truncated, at=message.at)
        except ValueError as error:
            raise MessageError(str(error)) from error

    def _server(self) -> GameServer:
        return server_at(int(self._where)) if self._where.isdecimal() else server_of(self._where, self._games)

    async def _met(self) -> Hello:
        """What the first game says of itself. A program that was only started for that is ended again."""
        own = None if self._where.isdecimal() else GameServer(0, None, _command(self._where))
        server = self._server() if own is None else own
        try:
            async with asyncio.timeout(self._wait):
                connection = await server.take()
        except TimeoutError as error:
            reasons = f": {server.refused[-1]}" if server.refused else ""
            words = "".join(f"; {program.last_words()}" for program in own.programs.values()) if own is not None else ""
            raise ValueError(f"connect:{self._where}: no game said hello in {self._wait:g} s{reasons}{words}") from error
        except LostError as error:
            raise ValueError(f"connect:{self._where}: {error}") from error
        finally:
            if own is not None:
                own.close()
        assert connection.hello is not None
        if own is None:
            server.give_back(connection)
        else:
            connection.close()
        return connection.hello


class _Answers:
    """Sends the actions of seats that were asked, as they come. Leaving it ends questions, but no message is cut in two."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tasks: set[asyncio.Task[None]] = set()
        self._sends: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> _Answers:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._sends and kind is None and (await asyncio.wait(self._sends, timeout=PATIENCE))[1]:
            raise MessageError("the game does not read what it is sent")
        for send in self._sends:
            send.cancel()

    def ask(self, seat: Seat, obs: Any, legal: Any, at: float | None) -> None:
        """Ask a seat; if it is still thinking nothing but its lateness is noted."""
        if seat.ask(obs, legal, at=at):
            task = asyncio.get_running_loop().create_task(self._answer(seat))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, seat: Seat) -> None:
        """Send a seat's action; where that fails the connection is lost, as whoever receives from it will hear."""
        message = Act(seat=seat.name, action=np.asarray(await seat.answer()).tolist())
        send = asyncio.get_running_loop().create_task(self._send(message))
        self._sends.add(send)
        send.add_done_callback(self._sends.discard)
        await asyncio.shield(send)

    async def _send(self, message: Act) -> None:
        with contextlib.suppress(LostError):
            await self._connection.send(message)


def _command(where: str) -> list[str]:
    words = shlex.split(where)
    if not words or shutil.which(words[0]) is None:
        raise ValueError(
            f"connect:{where}: {words[0] if words else where!r} is no program that can be started; name a port, as in "
            "connect:9000, or a command"
        )
    return words


def _kind(hello: Hello) -> Hello:
    """What a game says of itself, whoever says it."""
    return hello.model_copy(update={"token": ""})


def _space(said: messages.Box | messages.Discrete | messages.MultiDiscrete) -> gymnasium.Space[Any]:
    match said:
        case messages.Discrete():
            return gymnasium.spaces.Discrete(said.n)
        case messages.MultiDiscrete():
            return gymnasium.spaces.MultiDiscrete(said.nvec)
    low, high = (-np.inf if said.low is None else said.low), (np.inf if said.high is None else said.high)
    if said.dtype == "u1":
        low, high = max(0, int(low) if np.isfinite(low) else 0), min(255, int(high) if np.isfinite(high) else 255)
    return gymnasium.spaces.Box(low, high, tuple(said.shape), np.uint8 if said.dtype == "u1" else np.float32)


def _positive(name: str, value: Any, kind: Any = int | float) -> Any:
    if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
        raise ValueError(f"connect.{name}={value}: must be a {'whole ' if kind is int else ''}number above 0")
    return value


def _in_thread(make: Callable[[], Coroutine[Any, Any, Hello]]) -> Hello:
    """Run a coroutine to its end, also where another loop is running."""
    found: list[Hello] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            found.append(asyncio.run(make()))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return found[0]


def host(name: str, options: Mapping[str, Any], *, time_limit: int | None = None, action_repeat: int = 1) -> HostEnv:
    """Games at a port, or of a command. `options` are those of ConnectedGame."""
    if time_limit is not None or action_repeat > 1:
        raise ValueError(f"connect:{name}: wrap.time_limit and wrap.action_repeat are for the game itself to do")
    takes = list(inspect.signature(ConnectedGame).parameters)[1:]
    for key in options:
        if key not in takes:
            raise ValueError(f"connect.{key}: there is no such setting{closest(key, takes)}")
    return ConnectedGame(name, **options).host_env()


connect = Adapter(library=LIBRARY, ids=(), host=host)
