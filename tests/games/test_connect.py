"""Games that are programs of their own: played like any other; what they do wrong ends their episode, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.engines.mpiexec import ROOT
from tests.engines.workers import children
from tests.games import odd_client

from evolute.games import messages, server
from evolute.games.connect import ConnectedGame, host
from evolute.games.messages import MessageError
from evolute.games.played_game import GameError
from evolute.testing import check_async_game

CLIENTS = ROOT / "examples" / "socket_game"
PURSUIT = f"{sys.executable} {CLIENTS / 'pursuit.py'}"
ODD = f"{sys.executable} {Path(odd_client.__file__)}"


@pytest.fixture(autouse=True)
def _closed():
    yield
    server.close_servers()
    assert children(kind="guard.py") == []


def pool_of(game, seeds=(1,)):
    many = len(game.host_env().seats)
    return contextlib.closing(game.host_env().pool([[seed] * many for seed in seeds]))


def last(pool):
    """Answer until an episode ends; the moves of that call."""
    while True:
        moved = pool.recv()
        if moved.terminated.any() or moved.truncated.any() or pool.failures:
            return moved
        pool.send(moved.rows, np.ones(len(moved.rows), int))


def test_the_python_client_keeps_the_laws():
    game = ConnectedGame(PURSUIT, games=2)
    assert (list(game.seats), list(game.channels), game.repeatable) == (["hunter", "prey"], ["score", "effort"], False)
    check_async_game(game, episodes=1)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node")
def test_the_javascript_client_keeps_the_laws_and_repeats_itself():
    game = ConnectedGame(f"node {CLIENTS / 'mountain.js'}")
    assert game.repeatable
    check_async_game(game, episodes=1)


WORDS = {
    "dies": r"closed its connection; the program ended with exit code 9, after it had printed:\nout of ammunition",
    "closes": "closed its connection; the program is still running",
    "stalls": r"asked nobody for 2 s; the program is still running, after it had printed:\nwaiting for the level server$",
    "bytes": r"a message of 4294967295 \+ 4294967295 bytes",
    "no json": "a header that is no message: Invalid JSON",
    "kind": "'cheat' found using 'kind' does not match",
    "seat": "there is no seat 'nobody'",
    "obs": r"obs has the shape \(3,\), and should have \(2,\)",
    "body": "a body of 4 bytes, and the header speaks of 0",
    "nan": "amounts.reward: Input should be a finite number",
    "channel": "rewards gold: without channels there is one, 'reward'",
    "again": "said hello again",
    "failed": "the game says: the level file is missing",
    "legal": "the game has legal = False",
}
QUICK = ("dies", "bytes", "failed")


@pytest.mark.parametrize(
    "mode",
    [m if m in QUICK else pytest.param(m, marks=pytest.mark.slow(reason="each way to go wrong is told")) for m in WORDS],
)
def test_a_game_that_goes_wrong_ends_its_episode_with_its_last_words(mode):
    game = ConnectedGame(f"{ODD} '{mode}'", stall=2.0)
    with pool_of(game) as pool:
        moved = last(pool)
        assert (moved.reward.tolist(), moved.truncated.tolist(), moved.terminated.tolist()) == ([1], [True], [False])
        assert moved.results[0]["failed"] == 1
        with pytest.raises(RuntimeError, match=WORDS[mode]):
            raise RuntimeError(pool.words[0])


def whole(pool):
    """Play until an episode is whole."""
    while not (moved := last(pool)).results[0].get("win"):
        assert not pool.failures
        pool.send(moved.rows, [1])


@pytest.mark.parametrize(
    "mode", ["bytes", "failed", pytest.param("stalls", marks=pytest.mark.slow(reason="waits for a stall"))]
)
def test_a_program_that_goes_wrong_once_is_replaced(mode, tmp_path):
    game = ConnectedGame(f"{ODD} '{mode}' {tmp_path / 'flag'}", stall=5.0 if mode == "stalls" else 60.0)
    with pool_of(game) as pool:
        assert last(pool).results[0]["failed"] == 1
        pool.send([0], [1])
        whole(pool)
        assert len(children(kind="guard.py")) == 1


@pytest.mark.slow(reason="waits for a stall")
def test_a_program_that_does_not_connect_again_is_replaced(tmp_path):
    """Turns of a member end in mid-episode: this program's connection is closed then, and it only waits."""
    game = ConnectedGame(f"{ODD} leaves {tmp_path / 'flag'}", stall=5.0)
    with pool_of(game) as pool:
        pool.send(pool.recv().rows, [1])
        while not (tmp_path / "flag").exists():
            time.sleep(0.01)
    with pool_of(game) as pool:
        whole(pool)
    assert "no game has connected; the program is still running, after it had printed:\nso be it" in pool.words[0]


def test_what_failed_first_is_told():
    async def play(seats, seed):
        await seats["player"].act(np.zeros(2))
        raise GameError(next(words))

    game, words = ConnectedGame(f"{ODD} bytes"), iter(["the first", "the second", "the third"])
    game.play = play
    with pool_of(game) as pool:
        while not pool.failures:
            pool.send(last(pool).rows, [1])
    assert str(pool.failures[0]) == "ConnectedGame failed in 3 episodes in a row, first so:\nthe first"


def test_games_that_are_missing_at_a_port_are_counted(port):
    with subprocess.Popen([*PURSUIT.split()], env={**os.environ}) as program:
        game = ConnectedGame(str(port), stall=1.0)
        assert game.host_env().advice(3) == (f"connect:{port}: 3 games are needed for each member that trains; start them",)
        with pool_of(game, (1, 2, 3)) as pool:
            while not len(pool.failures) >= 4:
                moved = pool.recv()
                pool.send(moved.rows, np.ones(len(moved.rows), int))
            errors = {str(error) for error in pool.failures.values()}
            assert errors == {f"connect:{port}: 1 game is connected and 3 are needed (members x envs / seats); start more"}
        server.close_servers()
        program.wait(20)


def test_a_program_that_never_connects_is_told_with_what_it_printed():
    command = f"{sys.executable} -c 'print(\"no display\"); raise SystemExit(4)'"
    with pytest.raises(ValueError, match=r"never said hello; the program ended with exit code 4.*\nno display"):
        ConnectedGame(command)
    with pytest.raises(ValueError, match="'nonesuch' is no program that can be started"):
        ConnectedGame("nonesuch --fast")
    with pytest.raises(ValueError, match=r"connect.games=0: must be a whole number above 0"):
        ConnectedGame(PURSUIT, games=0)
    with pytest.raises(ValueError, match=r"connect.games=1.5: must be a whole number above 0"):
        ConnectedGame(PURSUIT, games=1.5)
    with pytest.raises(ValueError, match=r"connect.gamess: there is no such setting; did you mean 'games'\?"):
        host(PURSUIT, {"gamess": 2})


@pytest.fixture
def port(monkeypatch):
    """A free port, and the token that games show there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("EVOLUTE_TOKEN", "sesame")
    monkeypatch.setenv("EVOLUTE_ADDRESS", f"127.0.0.1:{port}")
    return port


def knocking(port, say, answers):
    """Connect as soon as somebody listens, say something, and note what comes back."""
    while True:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)) as line:
            line.sendall(say)
            with contextlib.suppress(OSError):
                answers.append(line.recv(1000, socket.MSG_WAITALL))
            return
        time.sleep(0.01)


def test_only_those_who_know_the_token_are_let_in(port, monkeypatch):
    answers = []
    wrong = odd_client.packed({**odd_client.HELLO, "token": "open up"})
    thief = threading.Thread(target=knocking, args=(port, wrong, answers))
    thief.start()
    with pytest.raises(ValueError, match=r"no game said hello in 1 s: the game does not know the token"):
        ConnectedGame(str(port), wait=1.0)
    thief.join()
    assert b'"refused"' in answers[0]
    assert b"welcome" not in answers[0]
    with subprocess.Popen([*PURSUIT.split()], env={**os.environ}) as program:
        game = ConnectedGame(str(port))
        with pool_of(game) as pool:
            assert last(pool).results
        server.close_servers()
        assert program.wait(20) is not None
    monkeypatch.delenv("EVOLUTE_TOKEN")
    with pytest.raises(ValueError, match="set EVOLUTE_TOKEN"):
        ConnectedGame(str(port))


def test_a_port_that_is_taken_is_told(port):
    with socket.create_server(("127.0.0.1", port)), pytest.raises(ValueError, match="cannot listen at"):
        ConnectedGame(str(port))


@pytest.mark.parametrize("number", [0, 65536])
def test_what_is_no_port_is_refused(number, monkeypatch):
    monkeypatch.setenv("EVOLUTE_TOKEN", "sesame")
    with pytest.raises(ValueError, match=f"connect:{number}: a port is a number from 1 to 65535"):
        ConnectedGame(str(number))


def test_it_listens_on_loopback_alone(port):
    assert server.server_at(port)._listener.getsockname()[0] == "127.0.0.1"


VALID = [
    {**odd_client.HELLO, "token": "sesame", "channels": ["gold"]},
    {"kind": "ask", "seat": "player", "obs": [0.5, 1], "legal": [True, False]},
    {"kind": "ask", "seat": "player", "obs": {"dtype": "f4", "shape": [1]}},
    {"kind": "ask", "seat": "player", "obs": [[1, 2], [3, 4]]},
    {"kind": "reward", "seat": "player", "amounts": {"reward": 1}},
    {"kind": "end", "seat": "player", "obs": None, "truncated": False},
    {"kind": "over", "results": {"player": {"win": 1}}},
    {"kind": "failed", "why": "why not"},
]


ODD_VALUES = [None, -1, 2**70, 1e400, "", "x" * 300, [], {}, [[[1]]], True, [None]]


def hostile(rng: random.Random) -> bytes:
    """A message that was damaged somewhere, or that never was one."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 60))
    message = dict(rng.choice(VALID))
    if kind == 1:
        message[rng.choice([*message, "more"])] = rng.choice(ODD_VALUES)
    data = bytearray(odd_client.packed(message, rng.randbytes(rng.choice([0, 0, 4]))))
    if kind == 2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    if kind == 3:
        del data[rng.randrange(len(data)) :]
    if kind == 4:
        deep = rng.choice([b"[", b'{"a":']) * rng.randrange(1, 20_000)
        data = bytearray(struct.pack("<II", len(deep), 0) + deep)
    return bytes(data)


def fuzzed(count: int) -> int:
    """Read damaged messages as a connection would; returns how many were messages after all."""
    rng, whole = random.Random(0), 0
    for _ in range(count):
        data = hostile(rng)
        try:
            header, body = messages.lengths(data[:8].ljust(8, b"\0"))
            message = messages.decoded(data[8 : 8 + header], data[8 + header : 8 + header + body])
            messages.observation(getattr(message, "obs", 0), data[8 + header :][:body])
            whole += 1
        except MessageError:
            continue
    return whole


def test_a_space_that_no_message_could_fill_is_nonsense():
    """Nothing is made as large as a stranger says."""
    huge = {"kind": "box", "shape": [1 << 24, 1 << 24]}
    with pytest.raises(MessageError, match="a box of 16777216 x 16777216 takes 1125899906842624 bytes, and a body at most"):
        messages.decoded(json.dumps({**odd_client.HELLO, "token": "sesame", "observation_space": huge}).encode(), b"")


def test_damaged_messages_are_nonsense_and_nothing_else():
    assert 100 < fuzzed(5_000) < 4_000


@pytest.mark.slow(reason="a hundred thousand damaged messages do no harm")
def test_a_hundred_thousand_damaged_messages_are_nonsense_and_nothing_else():
    assert fuzzed(100_000) > 1000


def test_strangers_do_no_harm_while_games_are_played(port):
    """They knock with damaged messages, with promises of gigabytes, and in silence; a game is played meanwhile."""
    rng, answers = random.Random(1), []
    calls = [hostile(rng) for _ in range(30)] + [struct.pack("<II", 65536, 1 << 26), b""]
    with subprocess.Popen([*PURSUIT.split()], env={**os.environ, "EVOLUTE_GAMES": "2"}) as program:
        game = ConnectedGame(str(port))
        strangers = [threading.Thread(target=knocking, args=(port, call, answers), daemon=True) for call in calls]
        for stranger in strangers:
            stranger.start()
        with pool_of(game, (1, 2)) as pool:
            ended = 0
            while ended < 8:
                moved = last(pool)
                ended += len(moved.results)
                pool.send(moved.rows, np.ones(len(moved.rows), int))
            assert not pool.failures
        server.close_servers()
        program.wait(20)
    assert all(b"welcome" not in answer for answer in answers)


def test_games_end_with_the_process_that_started_them(tmp_path):
    script = tmp_path / "starts.py"
    script.write_text(
        "import sys, time\n"
        "from evolute.games.connect import ConnectedGame\n"
        "pool = ConnectedGame(sys.argv[1]).host_env().pool([[1]])\n"
        "pool.recv()\n"
        "from evolute.games import server\n"
        "print(*[one.process.pid for known in server._servers.values() for one in known.programs.values()], flush=True)\n"
        "time.sleep(100)\n"
    )
    command = [sys.executable, str(script), f"{ODD} stalls"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        group = int(process.stdout.readline())
        os.killpg(group, 0)
        process.send_signal(signal.SIGKILL)
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    raise AssertionError("the game outlived the process that had started it")
