"""Strangers, and games that talk nonsense, at a real server over real sockets: they fail by themselves alone."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import random
import socket
import subprocess
import threading

import numpy as np
import pytest
from tests.games import odd_client
from tests.games.test_connect import PURSUIT, _closed, hostile, last, pool_of, port  # noqa: F401  # two are fixtures

from evolute.games import server
from evolute.games.connect import ConnectedGame
from evolute.games.played_game import GameError
from evolute.games.rows import Move, Row
from evolute.games.seats import Format, PlayedSeat

MANY = 5_000


def heard(where: int, *said: bytes) -> bytes:
    """Connect, say something, and hear everything that is answered until the connection is closed."""
    answers = b""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", where)) as line:
        for one in said:
            line.sendall(one)
        line.shutdown(socket.SHUT_WR)
        while answer := line.recv(4096):
            answers += answer
    return answers


@pytest.mark.slow("thousands of strangers come to a server while a game is played there, and none is let in")
def test_thousands_of_strangers_do_no_harm(port):  # noqa: F811
    rng, over, welcomed = random.Random(5), threading.Event(), []

    def knock():
        for _ in range(MANY):
            answer = heard(port, hostile(rng).replace(b"sesame", b"sesamf"))
            welcomed.extend([answer] if b"welcome" in answer else [])
        over.set()

    programs = [subprocess.Popen(PURSUIT.split(), env={**os.environ})]
    try:
        game = ConnectedGame(str(port), plays="hunter", stall=600.0)
        with pool_of(game, (1, 2)) as pool:  # the second game is waited for, so that strangers are met all the time
            threading.Thread(target=knock, daemon=True).start()
            played, seen = 0, set()
            while not (over.is_set() and played):
                moved = pool.recv(1, 0.1)
                played += len(moved.results)
                pool.send(moved.rows, np.ones(len(moved.rows), int))
            programs.append(subprocess.Popen(PURSUIT.split(), env={**os.environ}))
            while len(seen) < 2:
                moved = last(pool)
                seen |= set(moved.results)
                pool.send(moved.rows, np.ones(len(moved.rows), int))
            assert not pool.failures
            assert not pool.words
    finally:
        for program in programs:
            program.kill()
            program.wait()
    assert not welcomed


class Played:
    """Episodes of a game at a port, each with a seat of its own that is answered at once."""

    def __init__(self, game: ConnectedGame) -> None:
        self.game, self.form = game, Format(game)
        self.blank = Move(np.zeros(2, np.float32), np.zeros(1))

    async def fates(self, episodes: int) -> collections.Counter[str]:
        found = collections.Counter[str]()
        for seed in range(episodes):
            try:
                async with asyncio.timeout(60):
                    found[type(await self.game.play({"player": self.seat()}, seed)).__name__] += 1
            except GameError as error:
                found[type(error.__cause__).__name__] += 1
        return found

    def seat(self) -> PlayedSeat:
        row = Row(lambda move: asyncio.get_running_loop().call_soon(row.act, 0), self.blank)
        return PlayedSeat("player", row, self.form, lambda: None, waits=True)


@pytest.mark.slow("thousands of episodes of games that know the token and talk nonsense")
def test_thousands_of_games_that_talk_nonsense_fail_their_own_episode_alone(port):  # noqa: F811
    rng = random.Random(6)
    hello = odd_client.packed({**odd_client.HELLO, "token": "sesame"})

    def pretend():
        while known is server._servers.get((port, (), 1)):
            heard(port, hello, hostile(rng))

    known = server.server_at(port)
    threading.Thread(target=pretend, daemon=True).start()
    game = ConnectedGame(str(port))
    found = asyncio.run(Played(game).fates(MANY))
    assert set(found) == {
        "MessageError",
        "LostError",
        "NoneType",
        "dict",
    }  # an episode may fail in the game's own words, or be over
    assert min(found["MessageError"], found["LostError"]) > MANY // 20
    assert known.connected <= 1
